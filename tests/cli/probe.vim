" SPDX-License-Identifier: MIT OR Apache-2.0
" Says what the syntax file makes of words of the buffer: of each the line, the text and the group.

function! s:Group(line, text)
  let l:column = stridx(getline(a:line), a:text) + 1
  let l:group = synIDattr(synID(a:line, l:column, 1), 'name')
  return a:line . ' ' . a:text . ' ' . (l:group == '' ? 'none' : l:group)
endfunction

let s:said = ['filetype ' . &filetype . ', comment ' . &commentstring]
for s:word in [[1, 'TODO'], [1, 'comment'], [2, '@workgroup'], [3, 'kernel'], [3, 'words'],
      \ [3, 'f32'], [3, 'inout'], [5, 'block'], [6, '0x1F'], [6, '0b'], [6, '1_000'], [7, '1.5'],
      \ [7, '.25'], [7, '1e-3'], [7, '2f'], [8, 'if'], [8, '<'], [8, 'len'], [8, '||'], [8, 'true'],
      \ [8, '/ 2'], [8, '// tail'], [9, 'print'], [9, 'text'], [9, '%u'], [9, '\n'],
      \ [9, 'local_index'], [10, 'for'], [10, 'break']]
  call add(s:said, s:Group(s:word[0], s:word[1]))
endfor
call writefile(s:said, 'said')
qall!

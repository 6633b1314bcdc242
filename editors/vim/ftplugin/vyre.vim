" SPDX-License-Identifier: MIT OR Apache-2.0
" The layout of `vyre fmt`, comments, and `:make` for the errors of the file.

if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal expandtab shiftwidth=4 softtabstop=4 cindent
setlocal comments=s1:/*,mb:*,ex:*/,:// commentstring=//\ %s
setlocal makeprg=vyre\ build\ --check\ --color=never\ %:S
setlocal errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%-G%.%#

let b:undo_ftplugin = "setlocal expandtab< shiftwidth< softtabstop< cindent< comments< commentstring< makeprg< errorformat<"

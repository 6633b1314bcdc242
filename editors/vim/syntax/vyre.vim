" SPDX-License-Identifier: MIT OR Apache-2.0
" The kernel language of vyre. Made from src/lang/tokens.def and functions.def by
" scripts/gen-editors.

if exists("b:current_syntax")
  finish
endif

syntax case match

syntax match vyreOperator "\V<<=\|>>=\|++\|--\|+=\|-=\|*=\|/=\|%=\|&=\||=\|^=\|<<\|>>\|<=\|>=\|==\|!=\|&&\|||\|?\|:\|=\|<\|>\|+\|-\|*\|/\|%\|&\||\|^\|~\|!"
syntax keyword vyreDeclare kernel const workgroup in out inout
syntax keyword vyreType void u32 i32 f32 bool u8 i8 u16 i16
syntax keyword vyreConditional if else
syntax keyword vyreRepeat for while do
syntax keyword vyreStatement break continue return
syntax keyword vyreBoolean true false
syntax keyword vyreFunction len min max clamp abs sign select floor ceil round trunc sqrt inverse_sqrt reciprocal sin cos tan asin acos atan sinh cosh tanh exp exp2 log log2 fma is_nan is_inf is_finite popcount clz ctz reverse_bits rotl rotr mul_high sat_add sat_sub sat_mul abs_diff atomic_add atomic_sub atomic_and atomic_or atomic_xor atomic_min atomic_max atomic_exchange atomic_compare_exchange subgroup_add subgroup_shuffle subgroup_ballot subgroup_lane subgroup_size barrier print assert
syntax keyword vyreGiven global_id local_id group_id group_size local_index
syntax match vyreAttribute "@\s*\%(workgroup\|guard\)\>"
syntax match vyreNumber "\<\d[0-9_]*[ui]\=\>"
syntax match vyreNumber "\<0[xX][0-9a-fA-F][0-9a-fA-F_]*[ui]\=\>"
syntax match vyreNumber "\<0[bB][01][01_]*[ui]\=\>"
syntax match vyreFloat "\<\d[0-9_]*\.[0-9_]*\%([eE][-+]\=\d\+\)\=[fF]\="
syntax match vyreFloat "\.\d[0-9_]*\%([eE][-+]\=\d\+\)\=[fF]\=\>"
syntax match vyreFloat "\<\d[0-9_]*\%([eE][-+]\=\d\+[fF]\=\|[fF]\)\>"
syntax match vyreEscape "\\[nt\"\\]" contained
syntax match vyreFormat "%[udxf%]" contained
syntax region vyreString start=+"+ skip=+\\.+ end=+"+ oneline contains=vyreEscape,vyreFormat,@Spell
syntax keyword vyreTodo TODO FIXME XXX NOTE contained
syntax match vyreComment "//.*$" contains=vyreTodo,@Spell
syntax region vyreComment start="/\*" end="\*/" contains=vyreTodo,@Spell

syntax sync ccomment vyreComment

highlight default link vyreDeclare StorageClass
highlight default link vyreType Type
highlight default link vyreConditional Conditional
highlight default link vyreRepeat Repeat
highlight default link vyreStatement Statement
highlight default link vyreBoolean Boolean
highlight default link vyreFunction Function
highlight default link vyreGiven Constant
highlight default link vyreAttribute PreProc
highlight default link vyreOperator Operator
highlight default link vyreNumber Number
highlight default link vyreFloat Float
highlight default link vyreString String
highlight default link vyreEscape SpecialChar
highlight default link vyreFormat SpecialChar
highlight default link vyreComment Comment
highlight default link vyreTodo Todo

let b:current_syntax = "vyre"

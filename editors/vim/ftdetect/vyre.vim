" SPDX-License-Identifier: MIT OR Apache-2.0
autocmd BufRead,BufNewFile *.vyre setfiletype vyre

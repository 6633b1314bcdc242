# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# Completion of `vyre` for bash. Made from cli/options.def by scripts/gen-cli-docs.

_vyre()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local i word command='' next='' options='' paths=''

    # `--name=value` comes in three pieces.
    if [[ $cur == = ]]; then
        cur=''
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    case $prev in
    --backend)
        mapfile -t COMPREPLY < <(compgen -W "auto cpu cuda" -- "$cur")
        return
        ;;
    --place)
        mapfile -t COMPREPLY < <(compgen -W "auto process host" -- "$cur")
        return
        ;;
    --device)
        return
        ;;
    --host)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --workers)
        return
        ;;
    --file)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --pattern)
        return
        ;;
    -o | --output)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --kernel)
        return
        ;;
    --grid)
        return
        ;;
    --in)
        return
        ;;
    --out)
        return
        ;;
    --set)
        return
        ;;
    --size)
        return
        ;;
    --timeout)
        return
        ;;
    --chunk)
        return
        ;;
    --depth)
        return
        ;;
    --record)
        return
        ;;
    --overlap)
        return
        ;;
    --io)
        mapfile -t COMPREPLY < <(compgen -W "auto uring pread" -- "$cur")
        return
        ;;
    --as)
        mapfile -t COMPREPLY < <(compgen -W "auto values hex u64 i64 raw" -- "$cur")
        return
        ;;
    --dir)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --bytes)
        return
        ;;
    --files)
        return
        ;;
    --control)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --ring)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --windows)
        return
        ;;
    --previous-control)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --previous-ring)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --filter)
        return
        ;;
    --seconds)
        return
        ;;
    --only)
        return
        ;;
    --elements)
        return
        ;;
    --color)
        mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$cur")
        return
        ;;
    esac

    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        --backend | --place | --device | --host | --workers | --file | --pattern | -o | --output | --kernel | --grid | --in | --out | --set | --size | --timeout | --chunk | --depth | --record | --overlap | --io | --as | --dir | --bytes | --files | --control | --ring | --windows | --previous-control | --previous-ring | --filter | --seconds | --only | --elements | --color)
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            ((i++))
            ;;
        -*) ;;
        *)
            case $command in
            'build' | 'fmt' | 'verify' | 'dis' | 'exec' | 'stream' | 'conform') ;;
            *) command+=${command:+ }$word ;;
            esac
            ;;
        esac
    done

    case $command in
    '') next="info demo build fmt verify dis exec stream conform snapshot bench" options="--color -h --help --version" ;;
    'info') next="" options="--host --json --color -h --help --version" ;;
    'demo') next="" options="--backend --place --device --host --workers --file --pattern --quick --json --color -h --help --version" ;;
    'build') next="" options="--output -o --check --kernel --json --color -h --help --version" paths=-f ;;
    'fmt') next="" options="--check --json --color -h --help --version" paths=-f ;;
    'verify') next="" options="--explain --no-subgroups --kernel --json --color -h --help --version" paths=-f ;;
    'dis') next="" options="--program --kernel --color -h --help --version" paths=-f ;;
    'exec') next="" options="--backend --place --device --host --kernel --grid --in --out --set --size --strict --timeout --json --color -h --help --version" paths=-f ;;
    'stream') next="" options="--backend --place --device --host --workers --output -o --kernel --set --strict --timeout --chunk --depth --lines --record --overlap --io --direct --follow --merge --unordered --as --verbose -v --quiet -q --json --color -h --help --version" paths=-f ;;
    'conform') next="" options="--backend --place --device --host --filter --json --color -h --help --version" paths=-d ;;
    'snapshot') next="" options="--control --ring --windows --previous-control --previous-ring --json --color -h --help --version" ;;
    bench) next="dispatch ingest vm telemetry" options="--color -h --help --version" ;;
    'bench dispatch') next="" options="--backend --place --device --host --workers --seconds --only --pin --json --color -h --help --version" ;;
    'bench ingest') next="" options="--backend --place --device --host --workers --chunk --depth --dir --bytes --files --seconds --only --json --color -h --help --version" ;;
    'bench vm') next="" options="--backend --place --device --host --workers --seconds --only --elements --pin --json --color -h --help --version" ;;
    'bench telemetry') next="" options="--seconds --only --json --color -h --help --version" ;;
    esac
    if [[ -n $paths && $cur != -* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen "$paths" -- "$cur")
        return
    fi
    [[ $cur == -* || -z $next ]] && next=$options
    mapfile -t COMPREPLY < <(compgen -W "$next" -- "$cur")
}

complete -F _vyre vyre

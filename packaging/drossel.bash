# bash completion for drossel(1)
_drossel()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    local options=--help
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "run check explain replay suggest show top reset block unblock version help --help --version" -- "$cur"))
        return
    fi
    case $prev in
    --policy | --table | --decisions | --refused | --compare | --html)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    --root)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        return
        ;;
    --door)
        COMPREPLY=($(compgen -W "nginx library haproxy redis php envoy forward-auth" -- "$cur"))
        return
        ;;
    --format)
        COMPREPLY=($(compgen -W "combined common combined_forwarded vhost_combined traefik_clf haproxy json caddy traefik docker events ltsv iis cloudfront w3c alb elb s3 envoy squid uwsgi npm npmplus zoraxy" -- "$cur"))
        return
        ;;
    --order)
        COMPREPLY=($(compgen -W "time file" -- "$cur"))
        return
        ;;
    --top)
        COMPREPLY=($(compgen -W "10 100 all" -- "$cur"))
        return
        ;;
    --listen | --to | --workers | --peer | --address | --header | --account | --token | --host | --cost | --limit | --map)
        return
        ;;
    esac
    case $command in
    run) options="--policy --listen --to --root --workers --help" ;;
    check) options="--quiet --help" ;;
    explain) options="--peer --address --header --account --token --host --cost --door --table --private --help" ;;
    replay) options="--policy --compare --format --map --order --decisions --refused --json --top --door --help" ;;
    show) options="--table --policy --json --all --all-limits --limits --dry-run --watch --help" ;;
    top) options="--table --policy --ascii --help" ;;
    reset | block | unblock) options="--limit --table --policy --help" ;;
    suggest) options="--format --map --order --policy --html --json --all --help" ;;
    help)
        COMPREPLY=($(compgen -W "run check explain replay suggest show top reset block unblock version" -- "$cur"))
        return
        ;;
    esac
    case $cur in
    -*)
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
        return
        ;;
    esac
    case $command in
    check | explain | replay | suggest)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        ;;
    esac
}
complete -F _drossel drossel

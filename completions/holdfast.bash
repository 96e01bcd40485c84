# Bash completion for holdfast: verbs, options, modes, policies, and what a store can tell.

# The options that take no value.
_holdfast_switches='--json --help --all --follow --replace --no-remember --new --gone --print --force
    --allow-plain --metrics-public --any-port --hints --print-token --print-config --ask'
_holdfast_switches=${_holdfast_switches//$'\n'/ }

# The options of a verb; those with a value end in '='.
_holdfast_options() {
    local session='--session='
    case $1 in
        'session open') echo '--user= --name= --idle= --replaces= --no-remember' ;;
        'session beat' | 'session close') echo "$session" ;;
        'session list') echo '--user=' ;;
        acquire) echo "--mode= --ttl= --purpose= $session" ;;
        release) echo "--all --fence= $session" ;;
        renew) echo "--ttl= --purpose= --fence= $session" ;;
        downgrade | holds) echo "--fence= $session" ;;
        list) echo '--type= --user= --session=' ;;
        request) echo "--message= $session" ;;
        hand-over) echo "--to= --fence= $session" ;;
        decline) echo "--to= --message= --fence= $session" ;;
        force-release) echo "--reason= --fence= $session" ;;
        save) echo "--version= --new --gone --rely= --user= --name= --reason= --fence= $session" ;;
        'type set') echo '--policy= --ttl= --max-ttl=' ;;
        'token create') echo '--name= --role= --user= --expires=' ;;
        events) echo '--after= --type= --follow --interval= --count=' ;;
        watch) echo '--type= --interval= --count=' ;;
        top) echo '--interval= --count=' ;;
        run) echo '--wait= --hold= --lock= --purpose= --busy-code= --grace=' ;;
        restore) echo '--replace' ;;
        install) echo '--print --role=' ;;
        uninstall) echo '--print --force' ;;
        'guard add') echo '--type= --version= --policy= --parent= --link= --check= --mode= --reads --print' ;;
        'guard mode') echo '--until=' ;;
        'guard remove') echo '--print' ;;
        advise) echo '--answers= --access-log= --open= --save= --db= --table= --metrics= --audit= --review= --ask --format= --out= --plot= --seed=' ;;
        plan) echo '--script= --format= --out=' ;;
        audit) echo '--db= --idle= --format= --baseline= --fail-on= --out=' ;;
        serve)
            echo '--listen= --data= --config= --tls-certificate= --tls-key= --allow-plain --hsts= --allow-origin= --host= --trust-proxy=
                --connections-max= --connections-address= --body-max= --head-timeout= --body-timeout= --idle-timeout= --write-timeout= --log=
                --log-level= --rate-token= --burst-token= --rate-session= --burst-session= --rate-address= --burst-address= --requests-token= --streams-token= --streams-session= --names-token= --locks-session= --sessions-token=
                --keep-events= --keep-forced= --sweep-interval= --writers= --readers= --stop-timeout= --metrics-public
                --any-port --hints --print-token --print-config'
            ;;
    esac
    echo '--store= --token-file= --json --help'
}

# What can follow an option, as words; nothing when only the user knows.
_holdfast_values() {
    case $1 in
        --mode) echo 'exclusive shared' ;;
        --policy) echo 'optimistic exclusive-write exclusive-read read-write' ;;
        --role) echo 'use observe manage admin' ;;
        --ttl | --max-ttl | --hold | --grace | --idle | --interval | --expires) echo '30s 5m 30m 2h 1d' ;;
        --wait) echo '5s 1m 10m forever' ;;
        --replaces) echo 'remembered' ;;
        --listen) echo '127.0.0.1:7420 unix:' ;;
        --log) echo 'text json' ;;
        --format) echo 'markdown json' ;;
        --db) echo 'sqlite: postgres:// mysql://' ;;
        --metrics) echo 'http:// https://' ;;
        --log-level) echo 'error warning info debug' ;;
        --*-timeout | --keep-events | --keep-forced | --sweep-interval) echo '10s 30s 5m 1h 90d' ;;
        --store) echo 'memory: sqlite: postgres:// mysql:// redis:// rediss:// redis+unix:// http:// https://' ;;
    esac
}

# The words before the cursor, with what bash broke at '=' and ':' put together again.
_holdfast_words() {
    local word joined=() join=''
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ -n $join || $word == [=:] ]] && ((${#joined[@]} > 0)); then
            joined[-1]+=$word
        else
            joined+=("$word")
        fi
        join=''
        [[ $word == [=:] ]] && join=yes
    done
    ((${#joined[@]} == 0)) || printf '%s\n' "${joined[@]}"
}

# The verb: the first word that is no option and no option's value, or the first two of them.
_holdfast_verb() {
    local word skip='' words=()
    while read -r word; do
        if [[ -n $skip ]]; then
            skip=''
        elif [[ $word == --* ]]; then
            [[ $word == *=* || " $_holdfast_switches " == *" $word "* ]] || skip=yes
        else
            words+=("$word")
        fi
    done < <(_holdfast_words)
    case ${words[0]-} in
        session | type | token | guard) echo "${words[0]}${words[1]:+ ${words[1]}}" ;;
        *) echo "${words[0]-}" ;;
    esac
}

# -f or -d: files or folders whose names begin like $current.
_holdfast_files() {
    mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
    compopt -o filenames 2>/dev/null
    return 0
}

_holdfast() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb options words=''
    COMPREPLY=()
    verb=$(_holdfast_verb)
    options=$(_holdfast_options "$verb")
    options=${options//$'\n'/ }
    # '=' breaks words in bash: --mode=sh is three of them.
    if [[ $current == '=' ]]; then
        current=''
    elif [[ $previous == '=' ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $previous in
        --answers | --access-log | --audit | --review | --plot | --script | --out | --token-file | --config | --tls-certificate | --tls-key) _holdfast_files -f && return ;;
        --data) _holdfast_files -d && return ;;
    esac
    if [[ $previous == --* && " $options " == *" $previous= "* ]]; then
        words=$(_holdfast_values "$previous")
    elif [[ $current == --* ]]; then
        words=$options
    else
        case $verb in
            '') words='session acquire release renew downgrade holds who list request hand-over decline force-release version save type
                token run sweep events watch top backup restore install uninstall guard probe advise plan audit serve help' ;;
            session) words='open beat close list' ;;
            type) words='set get list' ;;
            token) words='create list revoke' ;;
            guard) words='add show mode report remove' ;;
            'guard '* | probe) words='sqlite: postgres:// mysql://' ;;
            help) words='session acquire release renew downgrade holds who list request hand-over decline force-release version save type
                token run sweep events watch top backup restore install uninstall guard probe advise plan audit serve' ;;
            install | uninstall) words='sqlite: postgres:// mysql:// redis:// rediss:// redis+unix://' ;;
            plan | audit | backup | restore) _holdfast_files -f && return ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [[ ${COMPREPLY[0]-} == *[=:/] ]] && compopt -o nospace 2>/dev/null
    return 0
}

complete -F _holdfast holdfast

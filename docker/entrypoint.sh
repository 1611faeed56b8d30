#!/bin/sh
# web | worker | beat | prepare | make-kek; anything else is a command of memsync.
set -eu
umask 077
mkdir -p "$MEMSYNC_HOME/static" "$MEMSYNC_HOME/models"

case "${1:-web}" in
web)
    exec gunicorn memsync.wsgi:application --config python:memsync.gunicorn_conf \
        --bind 0.0.0.0:8000 --workers "${WEB_WORKERS:-2}" --no-control-socket
    ;;
worker)
    exec python -m memsync.launcher.workers
    ;;
beat)  # run one: its schedule rings twice with two, which does no harm and no good
    exec celery --app memsync.celery --quiet beat --loglevel WARNING --pidfile "" --schedule /tmp/beat-schedule
    ;;
prepare)  # as the databases' owner; on empty databases it prints the first keys, once
    exec memsync prepare --json
    ;;
make-kek)  # once, by hand: a new file in place of a lost one would open nothing.  Refuses to replace one
    exec python -c 'import os; from apps.adapters.kms.local import LocalKeyring
LocalKeyring.create(os.environ["MEMSYNC_HOME"] + "/kek.json")'
    ;;
*)
    exec memsync "$@"
    ;;
esac

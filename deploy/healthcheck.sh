#!/bin/bash
# Whether the server in this container is ready for requests; with nothing but bash, which the image has.
# AUGUR_PORT: where it listens, if not at 8080.
exec 3<> "/dev/tcp/127.0.0.1/${AUGUR_PORT:-8080}" || exit 1
printf 'GET /health/ready HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
read -r -t 2 _ status _ <&3
[[ $status == 200 ]]

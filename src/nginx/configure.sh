#!/bin/sh
# Runs the configure script of Debian's nginx-dev, so that the module is built with the very options of the installed
# nginx (its binary signature tells).  Only two headers of all that it makes are wanted.  configure.sh SOURCE OUTPUT
set -eu
source=$1
output=$2
work=$(mktemp -d "$output/configure.XXXXXX")
trap 'rm -rf "$work"' EXIT
ln -s "$source/auto" "$source/src" "$work/"
cd "$work"
# The flags are written as an array of bash.
if ! bash -c '. "$1/conf_flags" && exec sh "$1/configure" "${NGX_CONF_FLAGS[@]}" --with-compat --builddir="$2"' \
    configure "$source" "$work/objects" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    echo "src/nginx/configure.sh: nginx's configure failed; what it needs is in the Debian packages of make deps" >&2
    exit 1
fi
mv "$work/objects/ngx_auto_config.h" "$work/objects/ngx_auto_headers.h" "$output/"

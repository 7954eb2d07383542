/*
 * drossel run: writes nginx.conf.
 */
#include "cli/run.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define MIME_TYPES "/etc/nginx/mime.types"

void run_quote(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_path(FILE *out, const char *directive, const struct run_plan *plan, const char *name)
{
    fprintf(out, "%s \"%s/%s\"", directive, plan->folder, name);
}

const struct passwd *run_worker(void)
{
    if (geteuid() != 0)
        return NULL;
    const struct passwd *user = getpwnam("www-data");
    return user != NULL ? user : getpwnam("nobody");
}

static void write_user(FILE *out)
{
    const struct passwd *user = run_worker();
    const struct group *group = user != NULL ? getgrgid(user->pw_gid) : NULL;
    if (group != NULL)
        fprintf(out, "user %s %s;\n", user->pw_name, group->gr_name);
}

static void write_main(FILE *out, const struct run_plan *plan)
{
    fputs("load_module ", out);
    run_quote(out, plan->module);
    fputs(";\ndaemon off;\nworker_shutdown_timeout 3s;\n", out);
    write_user(out);
    if (plan->workers > 0)
        fprintf(out, "worker_processes %u;\n", plan->workers);
    else
        fputs("worker_processes auto;\n", out);
    write_path(out, "pid", plan, "nginx.pid");
    fputs(";\n", out);
    write_path(out, "error_log", plan, "error.log");
    fprintf(out, " notice;\nerror_log syslog:server=unix:%s/errors.sock,nohostname,tag=drossel error;\n", plan->folder);
    fputs("events { worker_connections 1024; }\n", out);
}

static void write_types(FILE *out)
{
    if (access(MIME_TYPES, R_OK) == 0)
        fputs("    include " MIME_TYPES ";\n", out);
    else
        fputs("    types { text/html html htm; text/css css; application/javascript js; image/svg+xml svg;\n"
              "            image/png png; image/jpeg jpg jpeg; image/webp webp; font/woff2 woff2; text/plain txt;\n"
              "            application/json json; }\n",
              out);
}

/* Temporary files, the live lines, and what we are here for. */
static void write_http(FILE *out, const struct run_plan *plan)
{
    static const char *const folder[] = { "client_body", "proxy", "fastcgi", "uwsgi", "scgi" };
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        fprintf(out, "    %s_temp_path \"%s/%s\";\n", folder[i], plan->folder, folder[i]);
    }
    write_types(out);
    fprintf(out,
            "    default_type application/octet-stream;\n"
            "    server_tokens off;\n"
            "    sendfile on;\n"
            "    log_not_found off;\n" /* who asks for a file that is not there gets a 404, and nothing is wrong */
            "    log_format drossel_live \"" RUN_LIVE_FORMAT "\";\n"
            "    map $drossel_verdict $drossel_live { default 1; \"\" 0; - 0; PASSED 0; }\n"
            "    access_log syslog:server=unix:%s/live.sock,nohostname,tag=drossel drossel_live if=$drossel_live;\n"
            "    drossel_log_level warn;\n" /* the live lines tell it already */
            "    drossel_policy ",
            plan->folder);
    run_quote(out, plan->policy);
    fputs(";\n    drossel on;\n", out);
}

/* `https://host:port/base`: what nginx's upstream is to name, and the path that is put before. */
static void split_url(const char *url, const char **scheme, int *host_size, const char **host, const char **base)
{
    *scheme = strncmp(url, "https://", 8) == 0 ? "https" : "http";
    *host = url + strlen(*scheme) + 3;
    *host_size = (int)strcspn(*host, "/");
    *base = *host + *host_size;
    if (strncmp(*host, "unix:", 5) == 0) { /* http://unix:/path/of/socket */
        *host_size = (int)strlen(*host);
        *base = "";
    }
}

static void write_upstream(FILE *out, const struct run_plan *plan)
{
    const char *scheme, *host, *base;
    int size;
    split_url(plan->to, &scheme, &size, &host, &base);
    bool bracket = *host == '[';
    bool has_port = strncmp(host, "unix:", 5) == 0 || memchr(host, ':', (size_t)size) != NULL;
    if (bracket)
        has_port = host[size - 1] != ']';
    fprintf(out, "    upstream drossel_to { server %.*s%s; keepalive 32; }\n", size, host,
            has_port               ? ""
            : *(scheme + 4) == 's' ? ":443"
                                   : ":80");
    fputs("    map $http_upgrade $drossel_connection { default upgrade; \"\" \"\"; }\n", out);
}

static void write_proxy(FILE *out, const struct run_plan *plan)
{
    const char *scheme, *host, *base;
    int size;
    split_url(plan->to, &scheme, &size, &host, &base);
    fprintf(out,
            "        location / {\n"
            "            proxy_pass %s://drossel_to%s;\n"
            "            proxy_http_version 1.1;\n"
            "            proxy_set_header Host $http_host;\n"
            "            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n"
            "            proxy_set_header X-Forwarded-Proto $scheme;\n"
            "            proxy_set_header Upgrade $http_upgrade;\n"
            "            proxy_set_header Connection $drossel_connection;\n",
            scheme, strcmp(base, "/") == 0 ? "" : base);
    if (strcmp(scheme, "https") == 0)
        fprintf(out, "            proxy_ssl_server_name on;\n            proxy_ssl_name %.*s;\n",
                (int)strcspn(host, ":/"), host);
    fputs("            client_max_body_size 0;\n        }\n", out);
}

static void write_server(FILE *out, const struct run_plan *plan)
{
    fputs("    server {\n", out);
    for (size_t i = 0; i < plan->listen_count; i++)
        fprintf(out, "        listen %s;\n", plan->listen[i]);
    if (plan->to != NULL) {
        write_proxy(out, plan);
    } else if (plan->root[0] != '\0') {
        fputs("        index index.html index.htm;\n        root ", out);
        run_quote(out, plan->root);
        fputs(";\n", out);
    } else {
        run_site_locations(plan, out);
    }
    fputs("    }\n", out);
}

bool run_write_config(const struct run_plan *plan)
{
    char path[RUN_PATH];
    bool demonstration = plan->to == NULL && plan->root[0] == '\0';
    snprintf(path, sizeof path, "%s/nginx.conf", plan->folder);
    FILE *out = fopen(path, "we");
    if (out == NULL) {
        cli_complain("%s: %s", path, strerror(errno));
        return false;
    }
    write_main(out, plan);
    fputs("http {\n", out);
    write_http(out, plan);
    if (plan->to != NULL)
        write_upstream(out, plan);
    if (demonstration)
        run_site_upstream(plan, out);
    write_server(out, plan);
    if (demonstration)
        run_site_inside(plan, out);
    fputs("}\n", out);
    if (fclose(out) != 0) {
        cli_complain("%s: %s", path, strerror(errno));
        return false;
    }
    return !demonstration || run_site_files(plan);
}

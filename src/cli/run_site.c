/*
 * drossel run: the small site that it shows when there is none to protect.
 *
 * nginx alone has to be the application.  It reads a form's body only to pass it on, so the login and the API are passed to a
 * second server of the same nginx on a socket in our folder; by then the body is read, and a map has compared it with the one
 * right password.  Both answer in the content phase of the outer server, so that the limits come before them: a `return` there
 * would come first.
 */
#include "cli/run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

#define PAGE_BYTES 4096
#define WHERE "127.0.0.1:8080" /* stands in the page for where the site listens */
#define HEAD(title)                                                                                                    \
    "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n<meta name=viewport content=\"width=device-width\">\n"     \
    "<link rel=stylesheet href=/style.css>\n<title>" title "</title>\n<main>\n"
#define FORM                                                                                                           \
    "<form method=post action=/login>\n<label>User <input name=user value=demo autocomplete=username></label>\n"       \
    "<label>Password <input name=password type=password autofocus autocomplete=current-password></label>\n"            \
    "<button>Sign in</button>\n</form>\n<p class=small>The right password is <code>drossel</code>."                    \
    " Try a few wrong ones.</p>\n"

static const struct {
    const char *name, *text;
} file[] = {
    { "site/index.html",
      HEAD("drossel") "<img src=/picture.svg alt=\"A thrush\" width=120 height=120>\n<h1>drossel</h1>\n"
                      "<p>This page stands behind a rate limiter. Ask for it too often, and it is the limiter that "
                      "answers:"
                      " with <b>429</b>, and with how long to wait.</p>\n"
                      "<pre>seq 80 | xargs -P 20 -I{} curl -s -o /dev/null \\\n  -w '%{http_code}\\n' "
                      "http://" WHERE "/ \\\n  | sort | uniq -c</pre>\n"
                      "<ul>\n<li><a href=/login>A login</a> that knows one right password\n"
                      "<li>An API: <a href=/api/time>/api/time</a>, <a href=\"/api/echo?say=hello\">/api/echo</a>\n"
                      "<li>Static files: <a href=/style.css>/style.css</a>, <a "
                      "href=/picture.svg>/picture.svg</a>\n</ul>\n"
                      "<p class=small>In another terminal <code>drossel show</code> tells who is "
                      "counted.</p>\n</main>\n" },
    { "site/login.html", HEAD("Sign in") "<h1>Sign in</h1>\n" FORM "</main>\n" },
    { "site/wrong.html",
      HEAD("Sign in") "<h1>Sign in</h1>\n<p class=wrong>That was not the right password.</p>\n" FORM "</main>\n" },
    { "site/welcome.html",
      HEAD("Welcome") "<h1>Welcome</h1>\n<p>You are signed in. <a href=/>Back</a></p>\n</main>\n" },
    { "site/style.css",
      ":root { color-scheme: light dark; --ink: #2b2a28; --paper: #faf7f2; --accent: #a3541c; }\n"
      "@media (prefers-color-scheme: dark) { :root { --ink: #e9e4da; --paper: #1d1b19; --accent: #e59a5c; } }\n"
      "body { margin: 0; background: var(--paper); color: var(--ink); font: 1.05rem/1.6 system-ui, sans-serif; }\n"
      "main { max-width: 38rem; margin: 8vh auto; padding: 0 1.5rem; }\n"
      "h1 { font-weight: 650; letter-spacing: -.02em; }\na { color: var(--accent); }\n"
      "pre { overflow-x: auto; padding: 1rem; border-left: 3px solid var(--accent);\n"
      "      background: color-mix(in srgb, var(--ink) 6%, transparent); }\n"
      "label { display: block; margin: .8rem 0; }\ninput, button { font: inherit; padding: .4rem .7rem; }\n"
      "input { display: block; width: 100%; box-sizing: border-box; }\n.small { font-size: .9rem; opacity: .75; }\n"
      ".wrong { color: var(--accent); font-weight: 600; }\n" },
    { "site/picture.svg",
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 120 120\">\n"
      "<path d=\"M18 74c8-34 36-46 58-40l20-6-8 14c8 26-14 50-44 48L14 104l10-18z\" fill=\"#7a5a3c\"/>\n"
      "<path d=\"M44 88c22 2 42-14 42-36-6 16-22 26-46 28z\" fill=\"#e8d9bf\"/>\n"
      "<g fill=\"#4c3826\"><circle cx=\"56\" cy=\"80\" r=\"2\"/><circle cx=\"66\" cy=\"76\" r=\"2\"/>"
      "<circle cx=\"74\" cy=\"68\" r=\"2\"/><circle cx=\"62\" cy=\"84\" r=\"2\"/></g>\n"
      "<circle cx=\"78\" cy=\"42\" r=\"3\" fill=\"#1d1b19\"/>\n"
      "<path d=\"M58 90v14M66 90v14\" stroke=\"#a3541c\" stroke-width=\"3\"/>\n</svg>\n" },
};

static bool write_page(const struct run_plan *plan, const char *name, const char *text)
{
    char page[PAGE_BYTES];
    const char *where = strstr(text, WHERE);
    if (where == NULL)
        return run_write_file(plan, name, text);
    snprintf(page, sizeof page, "%.*s%s%s", (int)(where - text), text, plan->listen[0], where + strlen(WHERE));
    return run_write_file(plan, name, page);
}

bool run_site_files(const struct run_plan *plan)
{
    char path[RUN_PATH];
    snprintf(path, sizeof path, "%s/site", plan->folder);
    if (mkdir(path, 0755) != 0 || chmod(path, 0755) != 0) {
        cli_complain("%s: %s", path, strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        if (!write_page(plan, file[i].name, file[i].text))
            return false;
    return true;
}

void run_site_upstream(const struct run_plan *plan, FILE *out)
{
    fprintf(out,
            "    upstream drossel_inside { server unix:%s/inside.sock; keepalive 16; }\n"
            "    map \"$request_method $request_body\" $drossel_login {\n"
            "        default \"\";\n"
            "        \"~^POST (.*&)?user=demo&(.*&)?password=drossel(&|$)\" right;\n"
            "        \"~^POST (.*&)?password=drossel&(.*&)?user=demo(&|$)\" right;\n"
            "        \"~^POST \" wrong;\n"
            "    }\n"
            "    map $args $drossel_query { default \"\"; \"~^(?<drossel_safe>[A-Za-z0-9=&%%+._~-]{0,200})$\" "
            "$drossel_safe; }\n",
            plan->folder);
}

void run_site_locations(const struct run_plan *plan, FILE *out)
{
    fprintf(out,
            "        root \"%s/site\";\n"
            "        location / { index index.html; }\n"
            "        location = /welcome { default_type text/html; try_files /welcome.html =404; }\n"
            "        location = /favicon.ico { types { } default_type image/svg+xml; try_files /picture.svg =404; }\n"
            "        location ~ ^/(login$|api/) {\n"
            "            proxy_pass http://drossel_inside;\n"
            "            proxy_http_version 1.1;\n"
            "            proxy_redirect off;\n"
            "            proxy_set_header Connection \"\";\n"
            "            proxy_set_header Host $host;\n"
            "            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n"
            "            proxy_set_header X-Drossel-Client $remote_addr;\n"
            "            proxy_set_header X-Drossel-Login $drossel_login;\n"
            "            client_max_body_size 8k;\n"
            "            client_body_buffer_size 16k;\n"
            "        }\n",
            plan->folder);
}

void run_site_inside(const struct run_plan *plan, FILE *out)
{
    fprintf(out,
            "    server {\n"
            "        listen unix:%s/inside.sock;\n"
            "        drossel off;\n"
            "        access_log off;\n"
            "        absolute_redirect off;\n"
            "        root \"%s/site\";\n"
            "        location = /login {\n"
            "            default_type text/html;\n"
            "            error_page 403 /wrong.html;\n"
            "            if ($http_x_drossel_login = right) { return 303 /welcome; }\n"
            "            if ($http_x_drossel_login = wrong) { return 403; }\n"
            "            try_files /login.html =404;\n"
            "        }\n"
            "        location /api/ {\n"
            "            default_type application/json;\n"
            "            add_header Cache-Control no-store;\n"
            "            location = /api/time { return 200 '{\"time\":\"$time_iso8601\",\"unix\":$msec}\\n'; }\n"
            "            location = /api/echo {\n"
            "                return 200 '{\"method\":\"$request_method\",\"path\":\"/api/echo\","
            "\"query\":\"$drossel_query\",\"client\":\"$http_x_drossel_client\"}\\n';\n"
            "            }\n"
            "            location /api/ { return 404 '{\"error\":\"not_found\"}\\n'; }\n"
            "        }\n"
            "    }\n",
            plan->folder, plan->folder);
}

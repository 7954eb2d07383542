/*
 * The frame of the page: style, head and end.  It is one file that asks for nothing else, has no script, and forbids any.
 */
#include "cli/suggest_report.h"

#include <string.h>

static const char style[] =
    ":root{--ground:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5d6877;--line:#dde2e9;--person:#2f6fd6;--unclear:#9bb4d8;"
    "--machine:#e8912d;--bot:#c8372d;--limit:#12805c;--note:#fff6e0;--noteline:#e3b341;--code:#f0f2f5}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ground:#11151b;--card:#1a2029;--ink:#e4e9f0;--soft:#98a4b3;--line:#2d3642;"
    "--person:#5b9bff;--unclear:#51698e;--machine:#f0a648;--bot:#f06a5f;--limit:#3fc997;--note:#2b2514;--noteline:#"
    "a8842c;"
    "--code:#12171e}}\n"
    "*{box-sizing:border-box}\n"
    "html{color-scheme:light dark;-webkit-text-size-adjust:100%}\n"
    "body{margin:0;overflow-wrap:anywhere;background:var(--ground);color:var(--ink);font:16px/1.55 "
    "system-ui,-apple-system,\"Segoe "
    "UI\",Roboto,sans-serif}\n"
    "main{max-width:860px;margin:0 auto;padding:28px 18px 60px}\n"
    "h1{font-size:1.75rem;line-height:1.2;margin:0 0 6px;overflow-wrap:anywhere}\n"
    "h2{font-size:1.3rem;margin:44px 0 10px}\n"
    "h3{font-size:1.05rem;margin:0}\n"
    "p{margin:8px 0}\n"
    ".soft{color:var(--soft)}\n"
    ".tiles{display:flex;flex-wrap:wrap;gap:8px;margin:20px 0}\n"
    ".tile{flex:1 0 auto;min-width:80px;white-space:nowrap;background:var(--card);border:1px solid "
    "var(--line);border-radius:10px;padding:8px "
    "12px;font-size:.9rem;line-height:1.35}\n"
    ".tile b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums}\n"
    ".tile i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:16px 18px;margin:14px 0}\n"
    ".card .top{display:flex;flex-wrap:wrap;gap:4px 14px;align-items:baseline;justify-content:space-between}\n"
    ".allow{font-size:1.25rem;font-weight:650;color:var(--limit);font-variant-numeric:tabular-nums}\n"
    ".note{background:var(--note);border-left:4px solid var(--noteline);border-radius:6px;padding:8px 14px;margin:8px "
    "0;font-size:.95rem}\n"
    ".wide{overflow-x:auto;margin-top:12px}\n"
    "table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:4px 10px 4px 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}\n"
    "th{color:var(--soft);font-weight:500;white-space:nowrap}\n"
    "td.n,th.n{text-align:right}\n"
    "td.who{min-width:9.5em;max-width:17em;overflow-wrap:anywhere;font-family:ui-monospace,Consolas,monospace;font-"
    "size:.84rem}\n"
    "td.agent{color:var(--soft);overflow-wrap:anywhere;min-width:13em}\n"
    "td.why{min-width:14em}\n"
    "td.first{font-weight:600;white-space:nowrap}\n"
    ".kind{display:inline-block;border-radius:4px;padding:0 6px;font-size:.8rem;color:#fff;white-space:nowrap}\n"
    ".kind.person{background:var(--person)}.kind.unclear{background:var(--unclear);color:#111}\n"
    ".kind.machine{background:var(--machine);color:#111}.kind.bot{background:var(--bot)}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:.85rem;color:var(--soft);margin:10px 0 0}\n"
    ".legend i{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:5px}\n"
    "i.person{background:var(--person)}i.unclear{background:var(--unclear)}i.machine{background:var(--machine)}i.bot{"
    "background:var(--bot)}\n"
    "pre{background:var(--code);border:1px solid var(--line);border-radius:8px;padding:12px 14px;overflow-x:auto;"
    "font:.82rem/1.5 ui-monospace,Consolas,monospace}\n"
    "pre.all{user-select:all;-webkit-user-select:all}\n"
    "code{font:.88em ui-monospace,Consolas,monospace;background:var(--code);border-radius:4px;padding:1px 4px}\n"
    "pre code{background:none;padding:0;font-size:inherit}\n"
    "svg{display:block;overflow:visible;margin-top:10px}\n"
    "svg text{font-size:12px;fill:var(--soft);font-variant-numeric:tabular-nums}\n"
    "svg text.step{text-anchor:end}svg text.count{fill:var(--ink)}svg text.end{text-anchor:end}\n"
    "svg text.limit{fill:var(--limit);font-weight:650;text-anchor:end}svg text.limit.start{text-anchor:start}\n"
    "svg rect.person{fill:var(--person)}svg rect.unclear{fill:var(--unclear)}svg rect.machine{fill:var(--machine)}svg "
    "rect.bot{fill:var(--bot)}\n"
    "svg line.limit{stroke:var(--limit);stroke-width:2;stroke-dasharray:5 4}svg "
    "line.axis{stroke:var(--line);stroke-width:1}\n"
    "footer{margin-top:50px;color:var(--soft);font-size:.85rem}\n"
    "@media (max-width:640px){table.hits,table.hits tbody{display:block}table.hits "
    "tr{display:flex;flex-wrap:wrap;gap:1px 12px;"
    "padding:7px 0;border-bottom:1px solid var(--line)}table.hits tr.head{display:none}table.hits "
    "td{border:0;padding:0}"
    "table.hits td.who{min-width:0;max-width:none}table.hits td.why,table.hits "
    "td.agent{flex-basis:100%;min-width:0}table.hits td.peak::before{content:\"peak "
    "\";color:var(--soft)}"
    "table.hits td.total::before{content:\"requests \";color:var(--soft)}}\n"
    "@media (max-width:520px){main{padding:18px 12px 40px}h1{font-size:1.4rem}.card{padding:12px}svg "
    "text{font-size:11px}}\n"
    "@media "
    "print{:root{--ground:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--person:#2f6fd6;--unclear:#9bb4d8;--"
    "machine:#e8912d;"
    "--bot:#c8372d;--limit:#12805c;--note:#fff;--noteline:#e3b341;--code:#fff}html{color-scheme:light}main{max-width:"
    "none;padding:0}"
    ".card,.tile,.note,svg,tr{break-inside:avoid}h2,h3{break-after:avoid}pre,.wide{white-space:pre-wrap;overflow:"
    "visible}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

/* Agents, paths and names of hosts are written by whoever asks: letters that mean something to HTML are written as what they are, and
 * bytes that are no printable ASCII as \xNN, so that nothing turns the direction of a text around or looks like something else. */
void report_escape(const char *text, size_t size, FILE *out)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
            fprintf(out, "&#%u;", c);
        else if (c == '\n' || (c >= ' ' && c <= '~'))
            fputc(c, out);
        else
            fprintf(out, "\\x%02x", c);
    }
}

void report_page_begin(const struct findings *findings, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
          "content=\"no-referrer\">\n<title>Limits for ",
          out);
    report_escape(findings->source, strlen(findings->source), out);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
}

void report_page_end(FILE *out)
{
    fputs("<footer>Made by <code>drossel suggest</code>. This page needs no network and runs no script. It names "
          "addresses of visitors: treat it "
          "like the log.</footer>\n</main>\n</body>\n</html>\n",
          out);
}

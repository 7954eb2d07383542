<?php
// A small login, as applications have it: e-mail first, then the password; an API that hands out tokens; a cookie that
// remembers.  There is no limiter in it: what is wrong is answered with 401, and drossel counts that.
declare(strict_types=1);

// bcrypt of "correct horse" and "battery staple"; cost 6 for a demonstration, your own are to cost more.
const USERS = [
    'alice@example.org' => '$2y$06$k.hMeDzOGa.Zbbn8I5SSc.kYpCcZl7fhJvCFhzBSyTsvta251r.Ei',
    'bob@example.org' => '$2y$06$bPFyXh6sYiYGFGYbJEyGDuvVifakDs5sH.FjlNl1NZ9bVlEpfuqSG',
];
// For an e-mail that nobody has: the same work is done, so that time does not tell who has an account.
const NOBODY = '$2y$06$fyFTlZdW7BpDqX8nfcM.yeDlDXmJjLyWMjBN4/z.eF33ZnKkrJj3G';

function account(mixed $email): string
{
    return is_string($email) ? strtolower(trim($email)) : '';
}

function is_password_right(string $account, mixed $password): bool
{
    $hash = USERS[$account] ?? NOBODY;
    return password_verify(is_string($password) ? $password : '', $hash) && isset(USERS[$account]);
}

// A signed note that `account` may come in until a time; `purpose` keeps a token from being used as a cookie.
function sign(string $purpose, string $account, int $seconds): string
{
    $note = base64_encode(json_encode([$purpose, $account, time() + $seconds]));
    return $note . '.' . hash_hmac('sha256', $note, getenv('APP_KEY'));
}

// The account of a note that we signed and that is still good, or null.
function verify(string $purpose, string $signed): ?string
{
    [$note, $mac] = explode('.', $signed, 2) + ['', ''];
    if (!hash_equals(hash_hmac('sha256', $note, getenv('APP_KEY')), $mac)) {
        return null;
    }
    [$for, $account, $until] = json_decode(base64_decode($note));
    return $for === $purpose && $until > time() ? $account : null;
}

function remember(string $name, string $value, int $seconds): void
{
    setcookie($name, $value, ['expires' => $seconds === 0 ? 0 : time() + $seconds, 'path' => '/', 'httponly' => true,
                              'samesite' => 'Lax', 'secure' => ($_SERVER['HTTPS'] ?? '') === 'on']);
}

function page(int $status, string $text, string $form = ''): never
{
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    header('Cache-Control: no-store');
    echo '<!doctype html><title>Log in</title><p>', htmlspecialchars($text), "</p>\n", $form;
    exit;
}

function json(int $status, array $value): never
{
    http_response_code($status);
    header('Content-Type: application/json');
    header('Cache-Control: no-store');
    echo json_encode($value), "\n";
    exit;
}

function password_form(string $email): string
{
    return '<form method="post" action="/auth/login"><input type="hidden" name="email" value="' . htmlspecialchars($email) .
        '"><input type="password" name="password" autofocus><label><input type="checkbox" name="remember" value="1"> stay ' .
        "logged in</label><button>Log in</button></form>\n";
}

const EMAIL_FORM = '<form method="post" action="/auth/login"><input name="email" type="email" autofocus><button>Next</button></form>' . "\n";

// Step one resolves the e-mail, step two takes the password.  Step one is neither a success nor a failure: 202, not 200, or
// whoever guesses could clear his failures with it.  Its answer is the same whether the account exists or not.
function log_in(): never
{
    $account = account($_POST['email'] ?? '');
    if ($account === '') {
        page(422, 'Please give your e-mail address.', EMAIL_FORM);
    }
    if (!isset($_POST['password'])) {
        page(202, 'Now the password.', password_form($account));
    }
    if (!is_password_right($account, $_POST['password'])) {
        page(401, 'E-mail or password are wrong.', password_form($account));
    }
    remember('session', sign('session', $account, 3600), 0);
    if (isset($_POST['remember'])) {
        remember('remember', sign('remember', $account, 30 * 86400), 30 * 86400);
    }
    header('Location: /account', true, 302);
    exit;
}

function show_account(): never
{
    $account = verify('session', (string) ($_COOKIE['session'] ?? ''));
    if ($account === null && isset($_COOKIE['remember'])) {
        $account = verify('remember', (string) $_COOKIE['remember']);
        if ($account === null) {
            remember('remember', '', -1);
            page(401, 'Please log in again.', EMAIL_FORM);
        }
        remember('session', sign('session', $account, 3600), 0);
    }
    if ($account === null) {
        header('Location: /auth/login', true, 302);
        exit;
    }
    page(200, "Hello $account.");
}

function api_log_in(): never
{
    $body = json_decode(file_get_contents('php://input'), true);
    if (!is_array($body)) {
        json(400, ['error' => 'no_json']);
    }
    $account = account($body['email'] ?? '');
    if (!is_password_right($account, $body['password'] ?? '')) {
        json(401, ['error' => 'invalid_credentials']);
    }
    json(200, ['token' => sign('token', $account, 3600)]);
}

function api_me(): never
{
    $account = preg_match('/^Bearer (\S+)$/i', $_SERVER['HTTP_AUTHORIZATION'] ?? '', $found) ? verify('token', $found[1]) : null;
    $account === null ? json(401, ['error' => 'no_token']) : json(200, ['email' => $account]);
}

// Not by parse_url: for it `//x/auth/login` is the host `x` with the path `/auth/login`, which no limiter sees as a login.
match ($_SERVER['REQUEST_METHOD'] . ' ' . explode('?', $_SERVER['REQUEST_URI'], 2)[0]) {
    'GET /', 'GET /auth/login' => page(200, 'Who are you?', EMAIL_FORM),
    'POST /auth/login' => log_in(),
    'GET /account' => show_account(),
    'POST /api/v1/auth/login' => api_log_in(),
    'GET /api/v1/me' => api_me(),
    'GET /api/v1/status' => json(200, ['status' => 'up']),
    default => page(404, 'There is nothing here.'),
};

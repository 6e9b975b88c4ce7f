import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { catalogue } from '../src/core/errors.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const SECTION =
  /^### `(\w+)`\n\nHTTP (\d+) · exit code (\d) · retry: (yes|no)\n\n(?:> Message: .+\n\n)?(?:[^>\n].+\n)+\n\*\*What to do:\*\* /gm

const rows = [...readFileSync(join(root, 'docs/errors.md'), 'utf8').matchAll(SECTION)].map(
  ([, code = '', status, exit, retry]) => ({ code, status: Number(status), exit: Number(exit), retry }),
)

describe('docs/errors.md', () => {
  test('lists each code of the catalogue once, with its status, exit code and whether to retry', () => {
    const documented = rows.sort((a, b) => a.code.localeCompare(b.code))
    const real = Object.entries(catalogue)
      .map(([code, { status, exit, retryable }]) => ({ code, status, exit, retry: retryable ? 'yes' : 'no' }))
      .sort((a, b) => a.code.localeCompare(b.code))
    assert.deepEqual(documented, real, 'change docs/errors.md')
  })
})

describe('the error catalogue', () => {
  test('contains only codes that are used', () => {
    const sources = globSync('{src,transports,skills}/**/*.ts', { cwd: root })
      .filter((file) => file !== join('src', 'core', 'errors.ts'))
      .map((file) => readFileSync(join(root, file), 'utf8'))
    const unused = Object.keys(catalogue).filter(
      (code) => !sources.some((source) => source.includes(`'${code}'`)),
    )
    assert.deepEqual(unused, [], 'remove these from src/core/errors.ts and docs/errors.md')
  })

  test('has valid statuses and exit codes, and messages that are sentences', () => {
    for (const [code, { status, exit, message }] of Object.entries(catalogue)) {
      assert.ok(status === 202 || (status >= 400 && status < 600), `${code}: HTTP status ${status}`)
      assert.ok(exit >= 1 && exit <= 4, `${code}: exit code ${exit}`)
      assert.match(
        message,
        /^[A-Z{].*[.}`]$/s,
        `${code}: a message starts with a capital and ends with a full stop`,
      )
    }
  })

  test('marks only temporary errors as retryable', () => {
    const temporary = new Set([202, 409, 429, 499, 500, 502, 503, 504, 507])
    const wrong = Object.entries(catalogue).filter(
      ([, { status, retryable }]) => retryable && !temporary.has(status),
    )
    assert.deepEqual(
      wrong.map(([code]) => code),
      [],
    )
  })
})

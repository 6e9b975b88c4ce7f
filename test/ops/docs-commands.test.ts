import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The first shell example of a page that contains `part`. */
async function exampleWith(page: string, part: string): Promise<string> {
  const text = await readFile(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/^```sh[^\n]*\n(.*?)^```/gms)].map(([, block = '']) => block)
  const found = blocks.find((block) => block.includes(part))
  assert.ok(found, `${page}.md has an example with ${part}`)
  return found
}

/**
 * The commands that print the log of a service, with lines of systemd and Node between those of
 * Trivium.
 */
const LOG = `
log() {
  echo 'Started trivium.service - Trivium.'
  echo '{"level":50,"messageId":"01a2225a-…","msg":"first"}'
  echo '(node:1) Warning: deprecated'
  echo '{"level":30,"msg":"second"}'
  echo '{"level":50,"msg":"third"}'
}
journalctl() { log; }
docker() { log; }
kubectl() { log; }
`

describe('commands in the docs', () => {
  test('that filter the log continue after a line that is not JSON', async () => {
    const example = await exampleWith('monitoring', 'journalctl')
    const { stdout } = await run('bash', ['-ec', `set -o pipefail; ${LOG}\n${example}`])
    const messages = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).msg]))
    const errors = ['first', 'third']
    assert.deepEqual(messages, [...errors, ...errors, 'first', ...errors, ...errors])
  })
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createFolder } from '../runtime/support/folder.ts'

const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)

/**
 * Indexes more lines than fit into its files, and then fewer. Prints both times how many it finds,
 * or the error.
 */
const PROGRAM = `
import { createTranscriptIndex } from ${source('features/assistant/transcript-index.ts')}
const words = Array.from({ length: 2_000 }, (_, n) => 'word' + n * 7919).join(' ')
let count = 20_000
const logs = {
  hasMessages: async () => true,
  newestMessages: () => ({ entries: entries(), end: () => ({ inode: 1, start: 'first', offset: count }) }),
}
async function* entries() {
  for (let n = 0; n < count; n++)
    yield { time: new Date(n).toISOString(), role: 'user', channel: 'desk', content: words, meta: { from: 'ada', messageId: 'm' + n } }
}
const index = createTranscriptIndex({ dir: process.argv[1], logs })
const find = async () => {
  try {
    return (await index.find(['word7919'], {}, {})).length
  } catch (error) {
    return error.message
  }
}
console.log(await find())
count = 3
console.log(await find())
index.close()
`

test('the index of the transcript reports a full disk, and works again later', async (t) => {
  const dir = await createFolder(t)
  // 8,192 blocks of 512 bytes: no file can grow beyond 4 MB, as if the disk were full.
  const limited = 'ulimit -f 8192; exec "$0" "$@"'
  const args = ['-c', limited, process.execPath, '--input-type=module', '-e', PROGRAM, dir]
  const { stdout } = await promisify(execFile)('/bin/sh', args)
  const [first = '', second] = stdout.trim().split('\n')
  assert.match(first, /disk I\/O error|database or disk is full/)
  assert.equal(second, '3')
})

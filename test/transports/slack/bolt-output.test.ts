import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const MODULE = new URL('../../../transports/slack/bolt/thread/output.ts', import.meta.url).href

test('the output of a Bolt app keeps its bytes: split characters, and the encoding of a write', () => {
  const { stdout } = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { redactOutput } from '${MODULE}'
      redactOutput((text) => text.replaceAll('secret', '[secret]'))
      const [first, second] = Buffer.from('é')
      process.stdout.write(Buffer.from([first]))
      process.stdout.write(Buffer.from([second]))
      process.stdout.write('68690a', 'hex')
      process.stdout.write(' a secret', () => process.stdout.write(', written'))`,
    ],
    { encoding: 'utf8' },
  )
  assert.equal(stdout, 'éhi\n a [secret], written')
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { main } from '../../src/cli/program.ts'
import { printers } from '../../src/features/troubles/print.ts'
import { printed } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'

test('a list of troubles that is longer than the screen ends with the worst ones', (t) => {
  const { rows } = process.stdout
  t.after(() => {
    process.stdout.rows = rows
  })
  const troubles = ['one', 'two', 'three', 'four'].map((title) => ({
    title,
    text: 'a',
    todo: 'b',
    code: 'c',
  }))
  const notesOn = (lines: number) => {
    process.stdout.rows = lines
    return printed(printers.troubles?.({ troubles }, {}) ?? '').notes
  }
  assert.deepEqual(notesOn(24), [])
  assert.match(notesOn(8).join(), /^4 troubles, the worst first: one; two; three\. `trivium top`/)
})

describe('commands that are skills, without a daemon', () => {
  test('say that they need one, and show their help', async () => {
    const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
    const { code, err } = await site.run(['troubles'])
    assert.equal(code, 3)
    assert.match(err, /No daemon is running/)
    const help = await site.run(['troubles', '--help'])
    assert.equal(help.code, 0)
    assert.match(help.out, /what is wrong/)
  })

  test('show the help of built-in skills outside of a project', async (t) => {
    const cwd = mkdtempSync(join(tmpdir(), 'trivium-empty-'))
    t.after(() => rmSync(cwd, { recursive: true, force: true }))
    let output = ''
    const out = (text: string) => {
      output += text
    }
    const io = { env: { HOME: cwd }, cwd, out, err: out }
    assert.equal(await main(['event', 'wait', '--help'], io), 0)
    assert.match(output, /Usage: trivium event wait/)
  })
})

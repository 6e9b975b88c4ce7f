import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { main } from '../../src/cli/program.ts'
import { humanTroubles } from '../../src/features/troubles/print.ts'
import { printed } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'

test('a list of troubles that is longer than the screen has one line for each', (t) => {
  const { rows, columns } = process.stdout
  t.after(() => {
    Object.assign(process.stdout, { rows, columns })
  })
  const troubles = ['one', 'two', 'three', 'four'].map((title) => ({
    id: `id-${title}`,
    title,
    text: `the details of ${title}, which are long`,
    todo: 'restart it',
    code: 'c',
    severity: 'error',
    since: Date.now(),
  }))
  const on = (lines: number, form = {}) => {
    Object.assign(process.stdout, { rows: lines, columns: 40 })
    const { text, notes } = printed(humanTroubles({ troubles }, form))
    return { lines: stripVTControlCharacters(text).split('\n'), notes: notes.join('\n') }
  }
  assert.match(on(24).lines.join('\n'), /restart it/)
  assert.equal(on(24).notes, '')
  const short = on(8)
  assert.equal(short.lines.length, 5)
  assert.match(short.lines[1] ?? '', /^! +id-one +\d+ s +one: the det.*…$/)
  assert.match(short.notes, /`trivium trouble show id-one`/)
  const roomy = on(10, { short: true })
    .lines.slice(1)
    .map((line) => line.trim())
  assert.match(roomy[1] ?? '', /^one, whic/, 'the first ones have two lines if there is room')
  assert.match(roomy.at(-1) ?? '', /^! +id-four .*…$/)
  assert.equal(roomy.length, 6)
  assert.match(on(8, { full: true }).lines.join('\n'), /restart it/)
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

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { main } from '../../src/cli/program.ts'
import { openSite } from '../fixtures/daemon.ts'

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

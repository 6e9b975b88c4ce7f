import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { main } from '../../src/cli/program.ts'
import { openSite } from '../fixtures/daemon.ts'

describe('commands that are skills, where no daemon runs', () => {
  test('`trivium trouble list` says that it needs one, and has its help', async () => {
    const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
    const { code, err } = await site.run(['troubles'])
    assert.deepEqual([code, /No daemon is running/.test(err)], [3, true], err)
    const help = await site.run(['troubles', '--help'])
    assert.deepEqual([help.code, /what is wrong/.test(help.out)], [0, true], help.err)
  })

  test('the help of a skill of Trivium needs no project', async (t) => {
    const cwd = mkdtempSync(join(tmpdir(), 'trivium-empty-'))
    t.after(() => rmSync(cwd, { recursive: true, force: true }))
    const said: string[] = []
    const world = { env: { HOME: cwd }, cwd, out: (text: string) => said.push(text), err: () => undefined }
    assert.equal(await main(['event', 'wait', '--help'], world), 0)
    assert.match(said.join(''), /Usage: trivium event wait/)
  })
})

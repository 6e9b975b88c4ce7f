// The script for a nightly backup in docs/backup.md, with the line of each installation.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { blocksOf } from '../docs/blocks.ts'
import { openSite } from '../fixtures/daemon.ts'

const script = blocksOf('docs/backup.md').find(({ language }) => language === 'bash')?.code ?? ''
const lines = script.match(/^#run\(\) .*$/gm) ?? []

/**
 * Programs of the reader's machine. Those that run a command in a container or unit run it here.
 */
function programs(trivium: string): Record<string, string> {
  const runs = `until [ "$1" = trivium ]; do shift; done\n[ "$2" = trivium ] && shift\nshift\nexec ${trivium} "$@"`
  return {
    'systemd-run': runs.replace(
      'exec',
      'while [ "$1" = --config ] || [ "$1" = --data-dir ]; do shift 2; done\nexec',
    ),
    docker: runs,
    npx: runs,
    age: 'cp "$5" "$4"',
    rsync: 'echo "rsync $*" >> calls',
    curl: 'echo curl >> calls',
  }
}

describe('the script for a nightly backup', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: 'gateways: {}\n' })
  await (await site.start()).end()
  const bin = join(site.dir, 'bin')
  const archives = join(site.dir, 'archives')
  for (const dir of [bin, archives]) mkdirSync(dir)
  const trivium = `'${process.execPath}' '${await bundledCommand()}'`
  for (const [name, text] of Object.entries(programs(trivium)))
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })

  const run = (line: string, own: string) => {
    const text = own
      .replace(line, line.replace('#', ''))
      .replace('/var/backups/trivium', archives)
      .replace('/home/ada/my-bot', site.dir)
      .replace(/^PATH=/m, `PATH=${bin}:`)
    return spawnSync('bash', ['-c', text], { cwd: site.dir, encoding: 'utf8', env: { HOME: site.dir } })
  }
  const calls = () => readFileSync(join(site.dir, 'calls'), 'utf8')

  assert.equal(lines.length, 3)
  for (const line of lines) {
    test(`works with: ${line.slice(1, 40)}`, () => {
      const old = join(archives, 'old.tgz')
      writeFileSync(old, '')
      utimesSync(old, 0, 0)
      writeFileSync(join(site.dir, 'calls'), '')
      const { status, stdout, stderr } = run(line, script)
      assert.equal(status, 0, stderr)
      assert.match(stdout, /can be restored/)
      const day = new Date().toISOString().slice(0, 10)
      assert.deepEqual(readdirSync(archives), [`${day}.tgz`, `${day}.tgz.age`])
      assert.match(calls(), /^rsync .*\ncurl\n$/)
    })
  }

  test('makes no archive before a line is chosen', () => {
    writeFileSync(join(site.dir, 'calls'), '')
    const { status, stderr } = run('', script)
    assert.notEqual(status, 0)
    assert.match(stderr, /run: command not found/)
    assert.equal(calls(), '')
  })

  test('keeps the old archives and reports nothing after a failure', () => {
    const before = readdirSync(archives)
    writeFileSync(join(site.dir, 'calls'), '')
    const { status } = run(lines[1] ?? '', script.replace('backup -', 'backup - | head -c 99'))
    assert.notEqual(status, 0)
    assert.deepEqual([readdirSync(archives), calls()], [before, ''])
  })

  test('removes no archive if the copy to the other machine fails', () => {
    const old = join(archives, 'old.tgz')
    writeFileSync(old, '')
    utimesSync(old, 0, 0)
    writeFileSync(join(site.dir, 'calls'), '')
    const { status } = run(lines[1] ?? '', script.replace(/^rsync .*/m, 'false'))
    assert.notEqual(status, 0)
    assert.ok(readdirSync(archives).includes('old.tgz'))
    assert.equal(calls(), '')
  })
})

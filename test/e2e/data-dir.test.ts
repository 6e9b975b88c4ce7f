import assert from 'node:assert/strict'
import { chmodSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = 'gateways: {}\nroutes: [{ name: rest, skill: echo }]\n'

/** A site with a link in its data directory, and the target of the link. */
function siteWithLink(link: string) {
  const site = openSite({ routes: ROUTES })
  const victim = join(site.dir, 'victim')
  writeFileSync(victim, 'mine\n')
  chmodSync(victim, 0o644)
  mkdirSync(join(site.dir, '.trivium'))
  symlinkSync(victim, join(site.dir, '.trivium', link))
  return { site, victim }
}

test('only its owner can read the data directory, whatever the umask', async () => {
  const site = openSite({ routes: ROUTES })
  const umask = process.umask(0)
  const daemon = await site.start().finally(() => process.umask(umask))
  await site.run(['message', 'cli', 'remember this'])
  await daemon.invoke('state-set', { key: 'a', value: 1 })
  const open = globSync('.trivium{,/**}', { cwd: site.dir }).filter(
    (path) => (statSync(join(site.dir, path)).mode & 0o077) !== 0,
  )
  assert.deepEqual(open, [])
  await daemon.end()
})

test('a link in place of the control token is refused, and its target is not changed', async () => {
  const { site, victim } = siteWithLink('control-token')
  const { code, err } = await site.run(['start'])
  assert.equal(code, 1)
  assert.match(err, /control-token/)
  assert.equal(statSync(victim).mode & 0o777, 0o644)
})

test('files are not written through links', async () => {
  for (const link of ['messages.jsonl', 'messages.jsonl.lock']) {
    const { site, victim } = siteWithLink(link)
    assert.equal((await site.run(['message', 'cli', 'hello'])).out, 'You said: hello\n')
    assert.equal(readFileSync(victim, 'utf8'), 'mine\n', link)
  }
})

test('a daemon that cannot write the schema for editors runs with a warning', async () => {
  const site = openSite({ routes: ROUTES })
  mkdirSync(join(site.dir, '.trivium', 'routes.schema.json'), { recursive: true })
  const daemon = await site.spawn()
  await until(
    () => daemon.output().includes('routes.schema.json, for editors, could not be written'),
    'the warning',
  )
  assert.equal(await daemon.invoke('echo', { text: 'hello' }), 'You said: hello')
  await daemon.end()
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways: { hook: { transport: webhook, path: /hook } }
routes:
  - { name: silent, match: { prefix: hush }, skill: silent }
  - { name: rest, match: { gateway: hook }, skill: echo }`

test('trivium message says why there is no reply: the reason of the skill, or a paused route, skill or gateway', async () => {
  const site = openSite({ routes: ROUTES })
  const skill = "export default { description: 'x', run: () => ({ noReply: 'it is automatic mail' }) }\n"
  site.write('skills/silent/index.ts', skill)
  await site.start()
  const hush = await site.run(['message', 'hook', 'hush'])
  assert.equal(hush.code, 0)
  assert.match(hush.out, /The skill ran and sent no reply: it is automatic mail\./)
  const id = /Accepted as (\S+)\./.exec(hush.out)?.[1] ?? assert.fail(hush.out)
  assert.match(
    (await site.run(['message', 'show', id])).out,
    /dispatch +no reply +reason it is automatic mail/,
  )

  for (const [kind, name] of [
    ['route', 'rest'],
    ['skill', 'echo'],
    ['gateway', 'hook'],
  ] as const) {
    assert.equal((await site.run([kind, 'pause', name])).code, 0)
    const waiting = await site.run(['message', 'hook', 'hello', '--wait', '50'])
    assert.equal(waiting.code, 4)
    assert.ok(waiting.out.includes(`The ${kind} ${name} is paused`), waiting.out)
    assert.ok(waiting.out.includes(`\`trivium ${kind} resume ${name}\` resumes it`), waiting.out)
    assert.equal((await site.run([kind, 'resume', name])).code, 0)
  }
  assert.match((await site.run(['message', 'hook', 'hello'])).out, /You said: hello/)
})

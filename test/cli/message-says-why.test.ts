import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways: { hook: { transport: webhook, path: /hook } }
routes:
  - { name: silent, match: { prefix: hush }, skill: silent }
  - { name: object, match: { prefix: object }, skill: object }
  - { name: unanswered, match: { prefix: unanswered }, skill: object, reply: none }
  - { name: rest, match: { gateway: hook }, skill: echo }`

const OFF = `team: { transport: websocket, path: /ws, enabled: auto, tokens: [{ token: "\${NO_SUCH_TOKEN}" }] }`

const idIn = (out: string) => /Accepted as (\S+)\./.exec(out)?.[1] ?? assert.fail(out)

test('a gateway that is off is named with what it lacks', async () => {
  const site = openSite({ routes: `gateways: { ${OFF} }` })
  await site.start()
  for (const args of [
    ['message', 'team', 'hello'],
    ['gateway', 'show', 'team'],
    ['gateway', 'reconnect', 'team'],
  ]) {
    const { code, err } = await site.run(args)
    assert.equal(code, 1)
    assert.match(
      err,
      /There is no running gateway team\. It is off: NO_SUCH_TOKEN is not set \(enabled: auto\)\./,
    )
  }
})

test('trivium message says why there is no reply: the reason of the skill, a result without text, or a paused route, skill or gateway', async () => {
  const site = openSite({ routes: ROUTES })
  const skill = "export default { description: 'x', run: () => ({ noReply: 'it is automatic mail' }) }\n"
  site.write('skills/silent/index.ts', skill)
  const objectSkill = "export default { description: 'x', run: () => ({ invoice: 17 }) }\n"
  site.write('skills/object/index.ts', objectSkill)
  await site.start()
  const hush = await site.run(['message', 'hook', 'hush'])
  assert.equal(hush.code, 0)
  assert.match(hush.out, /The skill ran and sent no reply: it is automatic mail\./)
  assert.match(
    (await site.run(['message', 'show', idIn(hush.out)])).out,
    /dispatch\s+no reply\s+reason it is automatic mail/,
  )

  const object = await site.run(['message', 'hook', 'object'])
  const form = 'the result is an object without `text` or `http`'
  assert.ok(object.out.includes(`The skill ran and sent no reply: ${form}.`), object.out)
  const shown = (await site.run(['message', 'show', idIn(object.out)])).out
  assert.match(shown, /dispatch\s+no reply\s+reason the result is an object without `text` or `http`/)
  // `reply: none` of a route needs no reason.
  const unanswered = await site.run(['message', 'hook', 'unanswered'])
  assert.match(unanswered.out, /The skill ran and sent no reply\./)

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

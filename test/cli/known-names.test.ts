import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const HOOK = 'transport: webhook, verify: { scheme: none }'
const WITHOUT_OLD = `
gateways:
  demo: { ${HOOK}, path: /demo }
  spare: { ${HOOK}, path: /spare, enabled: false }
subscriptions:
  - { name: crm, url: "http://127.0.0.1:9/crm", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, allow-private: true, match: { gateway: demo } }
schedules:
  - { name: nightly, cron: "0 3 * * *", skill: echo }
routes:
  - { name: rest, skill: echo }
`
const ROUTES = WITHOUT_OLD.replace('gateways:', `gateways:\n  old: { ${HOOK}, path: /old }`).replace(
  'routes:',
  'routes:\n  - { name: gone, match: { gateway: old }, skill: fail, retry: { attempts: 1 } }',
)
const SKILLS = { fail: `export default { description: 'fails', run() { throw new Error('I fail') } }` }

/** A command line with a mistyped name, and its error. */
const MISTYPED: [args: string[], error: RegExp][] = [
  [['person', 'erase', 'dmeo:ada'], /There is no gateway dmeo\. Did you mean demo\?/],
  [['person', 'erase', 'nix:ada', '--confirm'], /There is no gateway nix\. There are: .*demo/],
  [['person', 'export', 'dmeo:ada'], /There is no gateway dmeo\. Did you mean demo\?/],
  [['message', 'list', '--gateway', 'dmeo'], /There is no gateway dmeo\. Did you mean demo\?/],
  [
    ['message', 'list', '--transport', 'webhok'],
    /no gateway with the transport webhok\. Did you mean webhook\?/,
  ],
  [['conversation', 'list', '--gateway', 'dmeo'], /There is no gateway dmeo/],
  [['send', 'list', '--gateway', 'dmeo'], /There is no gateway dmeo/],
  [['tail', '--gateway', 'dmeo', '--max', '1'], /There is no gateway dmeo\. Did you mean demo\?/],
  [['tail', '--transport', 'webhok', '--max', '1'], /the transport webhok/],
  [['listen', '--gateway', 'dmeo', '--exec', 'true', '--max', '1'], /There is no gateway dmeo/],
  [['route', 'replay', '--since', '1h', '--gateway', 'dmeo'], /There is no gateway dmeo/],
  [
    ['dead-letter', 'drop', '--all', '--queue', 'dispach'],
    /There is no queue dispach\. Did you mean dispatch\?/,
  ],
  [
    ['dead-letter', 'retry', '--all', '--queue', 'push/crn'],
    /There is no queue push\/crn\. Did you mean push\/crm\?/,
  ],
  [['dead-letter', 'drop', '--all', '--route', 'rst'], /There is no route rst\. Did you mean rest\?/],
  [
    ['dead-letter', 'retry', '--all', '--route', 'invoices'],
    /no route invoices\. `trivium route list` lists them/,
  ],
  [
    ['dead-letter', 'list', '--code', 'skill_faild'],
    /There is no error code skill_faild\. Did you mean skill_failed\?/,
  ],
  [['dead-letter', 'bulk', '--do', 'drop', '--group', 'rst'], /There is no route rst\. Did you mean rest\?/],
  [['route', 'pause', 'rst'], /There is no route rst/],
  [['schedule', 'run', 'nighly'], /There is no schedule nighly\. Did you mean nightly\?/],
  [['subscription', 'pause', 'crn'], /There is no push subscription crn\. Did you mean crm\?/],
  [['event', 'groups', '--topic', 'gateway-mesage'], /topic gateway-mesage\. Did you mean gateway-message\?/],
  [
    ['event', 'seek', '--topic', 'gateway-message', '--queue', 'crn', '--to', 'now'],
    /no consumer group crn\. Did you mean crm\?/,
  ],
  [['event', 'unsubscribe', '--topic', 'gateway-message', '--queue', 'crn'], /no consumer group crn/],
  [['cost', '--model', 'gpt'], /There is no model gpt/],
  [['cost', '--skill', 'ecco'], /There is no skill ecco\. Did you mean echo\?/],
]

describe('names in a command line', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const dead = await site.run(['message', 'old', 'hello', '--from', 'ada'])
  assert.match(dead.out, /It failed/)

  for (const [args, error] of MISTYPED) {
    test(`are refused if they do not exist: ${args.join(' ')}`, async () => {
      const { code, out, err } = await site.run(args)
      assert.match(err, error)
      assert.notEqual(code, 0)
      assert.equal(out, '')
    })
  }

  test('are accepted if they exist, also of a gateway that is switched off', async () => {
    for (const line of [
      'message list --gateway spare',
      'message list --gateway old --transport webhook',
      'dead-letter list --queue push/crm --route rest --code skill_timeout',
      'event groups --topic gateway-message',
      'person erase spare:ada',
      'person erase *:ada',
      'cost --skill echo',
    ]) {
      const { code, err } = await site.run(line.split(' '))
      assert.equal(code, 0, `${line}: ${err}`)
    }
  })

  test('are also checked without a daemon', async () => {
    const withoutDaemon = openSite({ routes: ROUTES, skills: SKILLS })
    for (const line of [
      'message list --gateway dmeo',
      'dead-letter list --route rst',
      'dead-letter list --queue outbx',
    ]) {
      const { code, err } = await withoutDaemon.run(line.split(' '))
      assert.match(err, /Did you mean (demo|rest|outbox)\?/)
      assert.equal(code, 1)
    }
    assert.equal((await withoutDaemon.run(['message', 'list', '--gateway', 'spare'])).code, 0)
  })

  test('are accepted if routes.yaml no longer has them, but stored messages do', async () => {
    site.write('routes.yaml', WITHOUT_OLD)
    assert.equal((await site.run(['reload'])).code, 0)
    assert.match((await site.run(['message', 'list', '--gateway', 'old'])).out, /hello/)
    assert.match(
      (await site.run(['dead-letter', 'drop', '--route', 'gone', '--queue', 'dispatch', '--all', '--yes']))
        .out,
      /^1 /,
    )
    for (const filter of [
      ['--route', 'gone'],
      ['--search', 'route:gone from:nobody'],
    ]) {
      const { code, err } = await site.run(['message', 'list', ...filter])
      assert.equal(code, 0, err)
      assert.doesNotMatch(err, /There is no route/)
    }
    const counted = await site.run(['person', 'erase', 'old:ada', '--json'])
    assert.ok(JSON.parse(counted.out).total > 0, counted.out)
  })

  test('are also checked before an erasure over HTTP', async () => {
    await assert.rejects(
      async () => daemon.invoke('person-erase', { identity: 'nix:ada', confirm: true }),
      /not_found: There is no gateway nix/,
    )
  })
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { spokenName } from '../../src/cli/grammar.ts'
import { VIEWER_SKILLS } from '../../src/core/viewer-role.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /demo, verify: { scheme: none } }
subscriptions:
  - { name: crm, url: "http://127.0.0.1:9/crm", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, allow-private: true, match: { gateway: demo } }
schedules:
  - { name: nightly, cron: "0 3 * * *", skill: echo }
routes:
  - { name: bad, match: { text: "bad*" }, skill: fail, retry: { attempts: 1 } }
  - { name: refund, match: { text: "refund*" }, skill: echo, approval: { approvers: ["cli:*"] } }
  - { name: rest, match: { gateway: cli }, skill: echo }
`
/** Beginnings of zod's own messages, which are not shown. */
const ZOD_MESSAGE = /Invalid (?!arguments for skill)|Unrecognized/
const SKILLS = { fail: `export default { description: 'fails', run() { throw new Error('I fail') } }` }

describe('what commands print for people and for programs', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const run = async (line: string) => {
    const { code, out, err } = await site.run(line.split(' '))
    assert.equal(code, 0, `${line}: ${err}`)
    return out
  }
  const json = async (line: string) => JSON.parse(await run(`${line} --json`))
  const { id: dead } = JSON.parse((await site.run(['message', 'cli', 'bad', '--json'])).out)
  // An event and messages to read.
  await daemon.invoke('event-emit', { topic: 'orders', data: 1 })
  await run('message cli refund 5 --wait 0')
  await daemon.post('/demo', '{"a":1}')

  test('a command that only reads prints JSON with --json only', async () => {
    const needsNoArguments = ({ args }: (typeof builtInSkills)[number]) => args.safeParse({}).success
    const readers = builtInSkills.filter(
      (skill) => VIEWER_SKILLS.includes(skill.name) && needsNoArguments(skill),
    )
    assert.ok(readers.length > 15)
    for (const { name } of readers) {
      const line = spokenName(name)
      assert.doesNotMatch(await run(line), /^[[{]/, line)
      await json(line)
    }
    for (const line of [
      `dead-letter show ${dead}`,
      `message show ${dead}`,
      'schedule show nightly',
      'subscription show crm',
    ])
      assert.doesNotMatch(await run(line), /^[[{]/, line)
  })

  test('approvals, pauses, dead letters and people are printed as tables and sentences', async () => {
    await until(async () => /pending/.test(await run('approval list')), 'the request')
    assert.match(
      await run('approval list'),
      /^id\ttime\ttitle\tstatus\tdeadline\tdecision\treason\tasked by\tskill\targuments\n.*\tpending\t.*text: refund 5/,
    )
    const [{ id }] = await json('approval list')
    const shown = await run(`approval show ${id.slice(0, 6)}`)
    assert.match(
      shown,
      new RegExp(
        `^.* pending\n[\\s\\S]*request +${id}\n[\\s\\S]*text +refund 5[\\s\\S]*decide ${id} --approve`,
      ),
    )
    assert.match((await site.run(['approval', 'show', 'nothing'])).err, /There is no approval nothing/)
    assert.match(
      await run('route pause rest --reason busy'),
      /^The route rest is paused\. .*trivium route resume rest.*busy\.\n$/,
    )
    assert.match(await run('pause list'), /rest\t.*it is resumed\t.*busy/)
    assert.match(
      await run('route show rest'),
      /^rest {2}route to the skill echo\n\nPaused by .* until it is resumed: busy\. [\s\S]*route resume rest` ends the pause/,
    )
    assert.match((await site.run(['route', 'show', 'rets'])).err, /no route rets|rets.*Did you mean rest/)
    assert.equal(await run('route resume rest'), 'The route rest is resumed. No message had waited.\n')
    assert.equal(await run('route resume rest'), 'The route rest was not paused.\n')
    assert.match(
      await run(`dead-letter show ${dead}`),
      /failed in +route bad, skill fail[\s\S]*\nbad\n[\s\S]*1 .*skill_failed\s+I fail\n/,
    )
    assert.match(await run('dead-letter-list'), /^id\ttime\tqueue/)
    assert.equal(
      await run('person erase *:nobody@example.com'),
      'Nothing was found about this person. People who are only named in the body of a webhook are not counted.\n' +
        'No message of others has nobody@example.com in its text.\n',
    )
    assert.match(
      await run('person erase *:cli'),
      /messages\s+\d+[\s\S]*Nothing was erased; --confirm erases them/,
    )
    assert.match(
      await run('conversation list'),
      /^time\s+from\s+state\s+newest\s+answer\s+gateway\s+messages\s+conversation/,
    )
    assert.match(await run('subscription pause crm'), /^The subscription crm is paused/)
    assert.match(await run('reload'), /^Reloaded\.\n/)
  })

  test('schedule run says that a schedule has already run with the same key', async () => {
    assert.match(await run('schedule run nightly --key k'), /runs now \(key k\)/)
    assert.match(
      await run('schedule run nightly --key k'),
      /has already run with the key k; nothing was run again/,
    )
    assert.equal((await json('schedule run nightly --key k')).repeated, true)
    assert.match(
      await run('schedule show nightly'),
      /when\s+daily at 03:00, UTC \(0 3 \* \* \*\)\nnext\s+.* UTC/,
    )
  })

  test('schedule create refuses two kinds of time', async () => {
    const args = ['schedule', 'create', '--skill', 'echo', '--every', '1h', '--cron', '* * * * *']
    assert.match((await site.run(args)).err, /exactly one of `cron`, `every` and `at`/)
  })

  test('a name or a text can be given without its flag', async () => {
    assert.match(await run('skill usage fail'), /^fail, \S+ to \S+: 1 run, 1 failed/)
    assert.match(await run('remember the milk'), /memory-1/)
    assert.match(await run('recall milk'), /the milk/)
    assert.match((await site.run(['skill', 'usage', 'fial'])).err, /Did you mean fail\?/)
  })

  test('errors about arguments are plain sentences with a suggestion', async () => {
    for (const [line, error] of [
      [
        'cost --by modl',
        /by: expected one of model, skill, sender, gateway, day, time; did you mean "model"\?/,
      ],
      ['message list --outcome ded', /expected one of waiting, running/],
      ['event emit --args {"topic":"x","tpye":"y"}', /unknown argument "tpye"/],
      ['groups', /Did you mean `trivium group`\?/],
      ['schedules', /Did you mean `trivium schedule`\?/],
    ] as const) {
      const { code, err } = await site.run(line.split(' '))
      assert.match(err, error)
      assert.doesNotMatch(err, ZOD_MESSAGE)
      assert.equal(code, 2)
    }
    const history = await site.run(['history', '--channel', 'dmeo'])
    assert.equal(history.out, '')
    assert.match(history.err, /no gateway dmeo\. Did you mean demo\?/)
  })

  test('a consumer group is listed, shown, moved and deleted by `group`, and by the older `event` commands', async () => {
    for (const group of ['books', 'mail']) await run(`event subscribe --topic orders --queue ${group}`)
    for (const line of ['group list', 'event groups'])
      assert.match(await run(line), /books[\s\S]*mail|mail[\s\S]*books/)
    assert.doesNotMatch(await run('group show books'), /mail/)
    assert.equal((await json('group show books')).length, 1)
    assert.match(
      (await site.run(['group', 'show', 'boks'])).err,
      /no consumer group boks.*Did you mean books\?/,
    )
    await run('group seek books --topic orders --to start')
    await run('group delete books --topic orders')
    await run('event unsubscribe orders --queue mail')
    assert.deepEqual(
      (await json('group list')).filter((each: unknown) => /^(books|mail)$/.test(Object(each).group)),
      [],
    )
    assert.match(await run('group --help'), /list[\s\S]*show[\s\S]*seek[\s\S]*replay[\s\S]*delete/)
  })

  test('help lists every noun, and the verbs of each noun, skills included', async () => {
    const all = await run('help')
    for (const noun of [
      'schedule',
      'pause',
      'person',
      'gateway',
      'subscription',
      'approval',
      'trouble',
      'cost',
    ])
      assert.match(all, new RegExp(`^  ${noun} `, 'm'))
    assert.match(await run('skill --help'), /^ {2}test [\s\S]*^ {2}usage /m)
    assert.match(await run('dead-letter --help'), /^ {2}bulk /m)
    assert.match(await run('help schedule'), /^ {2}create /m)
    assert.match(await run('slack'), /^ {2}installs remove /m)
    assert.match(await run('audit list'), /^id\s+time \(UTC\)\s+who/)
  })

  test('docs/personal-data.md describes each place that an erasure counts', async () => {
    const places = readFileSync(join(import.meta.dirname, '../../docs/personal-data.md'), 'utf8')
    for (const place of Object.keys((await json('person erase *:cli')).counts))
      assert.match(
        places,
        new RegExp(`^\\| (?:[^|]+, )?${place}(?:, [^|]+)? \\|`, 'm'),
        `docs/personal-data.md describes ${place}`,
      )
  })
})

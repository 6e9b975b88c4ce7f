import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withFilters } from '../../src/cli/filter-note.ts'
import { objectsIn } from '../../src/core/json.ts'
import { noData } from '../../src/lib/printed.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
routes:
  - { name: bad, match: { text: "bad*" }, skill: fail, retry: { attempts: 1 } }
  - { name: rest, match: { gateway: cli }, skill: echo }
`
const SKILLS = { fail: `export default { description: 'fails', run() { throw new Error('I fail') } }` }

test('an empty list names its filters, and keeps its other hints', () => {
  const search = { search: 'order 17', before: 'x', limit: 50, since: 0, unanswered: true }
  assert.deepEqual(withFilters(noData('No messages. In longer numbers: …', 'Older ones'), search), {
    text: '',
    notes: [
      "No messages match --search 'order 17' --since all --unanswered. In longer numbers: …",
      'Older ones',
    ],
  })
  assert.deepEqual(
    withFilters(noData('No messages.'), { limit: 50, answerable: true }),
    noData('No messages.'),
  )
  assert.equal(withFilters('id\trow', { text: 'row' }), 'id\trow')
})

describe('a filter that nothing matches', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  await site.start()
  const run = (line: string) => site.run(line.split(' '))

  test('says how many dead letters there are without it', async () => {
    assert.equal((await run('dead-letter list --error xyz')).err, 'No dead letters match --error xyz.\n')
    await run('message cli bad')
    const letters = async () => objectsIn(JSON.parse((await run('dead-letter list --json')).out))
    await until(async () => (await letters()).length === 1, 'the dead letter')
    const none = await run('dead-letter list --error xyz')
    assert.deepEqual(none, { code: 0, out: '', err: 'The only dead letter does not match.\n' })
    await run('message cli bad')
    await until(async () => (await letters()).length === 2, 'the other one')
    assert.equal((await run('dead-letter list --route rest')).err, 'None of the 2 dead letters matches.\n')
    const oldest = (await letters()).at(-1)
    assert.equal(
      (await run(`dead-letter list --before ${oldest?.at}/${oldest?.id}`)).err,
      'No older dead letters.\n',
    )
    const retried = await run('dead-letter retry --all --no-wait')
    assert.equal(retried.code, 0)
    assert.match(retried.err, /^About to retry 2 dead letters:\ncount\t.*\n2\tdispatch\tbad\t.*I fail/)
  })

  test('is named', async () => {
    assert.equal((await run('message list --text nowhere')).err, 'No messages match --text nowhere.\n')
    assert.equal((await run('approval list --status denied')).err, 'No approvals match --status denied.\n')
    assert.equal((await run('approval list --since 1h')).err, 'No approvals match --since 1h.\n')
    assert.equal((await run('event list orders --until 1h')).err, 'No events match --until 1h.\n')
    assert.equal((await run('event list orders')).err, 'No events are retained.\n')
    assert.equal((await run('audit list --by nobody')).err, 'No entries match --by nobody.\n')
  })

  test('is refused if no such action is in the audit log', async () => {
    const unknown = await run('audit list --action route-pase')
    assert.deepEqual([unknown.code, unknown.out], [1, ''])
    assert.match(unknown.err, /There is no action route-pase\. Did you mean route-pause\?/)
    assert.match((await run('audit --action foo')).err, /no action foo\. `trivium audit list` lists them/)
    for (const action of ['route-pause', 'route-*', 'sign-in'])
      assert.equal((await run(`audit list --action ${action}`)).code, 0, action)
  })

  test('a command without a recipient names the flags, and where to get their values', async () => {
    const { code, err } = await run('gateway send hello')
    assert.equal(code, 2)
    assert.match(err, /`--message-id ID` answers a message: `trivium message list`/)
    assert.match((await run('conversation show nobody')).err, /`trivium conversation list --search nobody`/)
  })
})

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { CONFIRMED } from '../../src/cli/confirms-skill.ts'
import { skillJsonSchema } from '../../src/core/skill.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: moody, match: { text: "moody*" }, skill: moody, retry: { attempts: 1 } }
  - { name: bad, match: { text: "bad*" }, skill: bad, retry: { attempts: 1 } }
  - { name: long, match: { text: "long*" }, skill: long, retry: { attempts: 1 } }
  - { name: slow, match: { text: "slow*" }, skill: long, retry: { attempts: 2, delay: 10m } }
  - { name: late, match: { text: "late*" }, skill: bad, retry: { attempts: 2, delay: 10m } }
`
const SKILLS = {
  bad: `export default { description: 'fails', run({ message }) { throw new Error('no ' + message.text) } }`,
  moody: `const seen = new Set()
    export default { description: 'fails once', run({ message: { id } }) { if (!seen.has(id)) { seen.add(id); throw new Error('not yet') } } }`,
  long: `const seen = new Set()
    export default { description: 'fails, then takes long', run({ message: { id }, signal }) {
      if (!seen.has(id)) { seen.add(id); throw new Error('not yet') }
      return new Promise((done) => { const timer = setTimeout(done, 60000); signal.addEventListener('abort', () => { clearTimeout(timer); done() }) })
    } }`,
}
/** The text without outcomes. */
const NOT_FOLLOWED =
  /^1 dead letter waits to be tried again\.\n {2}→ `trivium job show (dead-letters-\S+) --follow` waits for the outcomes\.\n$/
const BIN = await bundledCommand()

describe('the result of a retry', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  /** A dead letter with this text. */
  const letter = async (text: string): Promise<string> => {
    const { id } = JSON.parse((await site.run(['message', 'cli', text, '--json'])).out)
    return id
  }
  const run = async (...args: string[]) => (await site.run(args)).out

  test('one that succeeds is done; one that fails again has its error', async () => {
    assert.equal(await run('dead-letter', 'retry', await letter('moody 1')), 'Retried: done.\n')
    const bad = await letter('bad 1')
    const { out: again, code } = await site.run(['dead-letter', 'retry', bad])
    assert.equal(code, 1)
    assert.match(
      again,
      /^It failed again: no bad 1\. `trivium dead-letter show [\w-]+` has the attempts\.\n$/,
    )
    const { count, outcomes } = JSON.parse(await run('dead-letter', 'retry', bad, '--json'))
    assert.deepEqual(
      [count, outcomes],
      [1, [{ id: bad, outcome: 'dead', error: 'Skill bad failed: no bad 1' }]],
    )
    await run('dead-letter', 'drop', bad)
  })

  test('many are counted by outcome, with those that still run', async () => {
    for (const text of ['moody 2', 'moody 3', 'bad 2']) await letter(text)
    assert.match(
      await run('dead-letter', 'retry', '--all'),
      /^3 retried: 2 done, 1 failed again\.\n {2}→ `trivium dead-letter list[^`]*` has those that failed again\.\n {2}→ `trivium job show dead-letters-\S+` shows the outcomes\.\n\ncount\t/,
    )
    const [, job = ''] = NOT_FOLLOWED.exec(await run('dead-letter', 'retry', '--all', '--no-wait')) ?? []
    const followed = await site.run(['job', 'show', job, '--follow'])
    assert.equal(followed.code, 1)
    assert.match(followed.out, /^result +1 dead letter retried: 1 failed again$/m)
    // Its filter contains only given times.
    assert.doesNotMatch(followed.out, /^filter/m)
    await until(async () => (await letters()).length === 1, 'the dead letter again')
    assert.match(await run('dead-letter', 'drop', '--all', '--yes'), /^1 dead letter dropped\.\n$/)
  })

  test('several that are named are retried as a job, whose outcome stays known', async () => {
    const ids = [await letter('moody 5'), await letter('bad 5')]
    const missing = await site.run(['dead-letter', 'retry', ...ids, '00000000-0000-7000-8000-000000000000'])
    assert.notEqual(missing.code, 0)
    const { out, code } = await site.run(['dead-letter', 'retry', ...ids, ids[0] ?? ''])
    assert.equal(code, 1)
    const [, job = ''] = /`trivium job show (dead-letters-\S+)` shows the outcomes\./.exec(out) ?? []
    assert.match(out, /^2 retried: 1 done, 1 failed again\.\n/)
    const shown = await run('job', 'show', job)
    assert.match(shown, /^result +2 dead letters retried: 1 failed again, 1 done$/m)
    assert.match(await run('dead-letter', 'retry', ids[1] ?? '', '--no-wait'), /^1 dead letter waits/)
    await until(async () => (await letters()).length === 1, 'the dead letter again')
    await run('dead-letter', 'drop', '--all', '--yes')
  })

  const letters = async () => JSON.parse(await run('dead-letter', 'list', '--json'))

  test('a paused route is named at once, and resuming it is the next step', async () => {
    const id = await letter('moody 4')
    await run('route', 'pause', 'moody')
    assert.match(
      await run('dead-letter', 'retry', id),
      /^Retried\. It waits: route moody is paused\. `trivium route resume moody` resumes it\.\n$/,
    )
    await run('route', 'resume', 'moody')
  })

  test('one that still runs after 5 s says so', async () => {
    const id = await letter('long 1')
    assert.match(
      await run('dead-letter', 'retry', id),
      /^Retried; it is still running\. `trivium message show /,
    )
    await run('run', 'cancel', id)
    await run('dead-letter', 'drop', '--all', '--yes')
  })

  test('Ctrl-C ends the wait, and not the retry', async () => {
    const sent = JSON.parse(await run('message', 'cli', 'slow', '--wait', '0', '--json'))
    const stateOf = async (id: string) => Object(await daemon.invoke('message-show', { id })).outcome
    await until(async () => (await stateOf(sent.id)) === 'retrying', 'the first attempt')
    for (const [command, id] of [
      ['dead-letter', await letter('long 2')],
      ['message', sent.id],
    ]) {
      const child = spawn(process.execPath, [BIN, command, 'retry', id], { cwd: site.dir })
      await until(async () => (await stateOf(id)) === 'running', 'the next attempt')
      const closed = once(child, 'close')
      child.kill('SIGINT')
      assert.match(await text(child.stdout), /still running/)
      assert.deepEqual(await closed, [130, null], command)
      assert.equal(await stateOf(id), 'running')
      await run('run', 'cancel', id)
    }
    await run('dead-letter', 'drop', '--all', '--yes')
  })

  test('message retry of a dead message names the command that retries it', async () => {
    const id = await letter('bad 3')
    const { err } = await site.run(['message', 'retry', id])
    assert.ok(err.includes(`\`trivium dead-letter retry ${id}\``), err)
    await run('dead-letter', 'drop', id)
  })

  test('message retry says what became of the message', async () => {
    void site.run(['message', 'cli', 'late', '--wait', '1s'])
    const retrying = async () =>
      JSON.parse(await run('message', 'list', '--outcome', 'retrying', '--json')).messages
    await until(async () => (await retrying()).length > 0, 'a failure')
    const [{ id }] = await retrying()
    const { out: said, code } = await site.run(['message', 'retry', id])
    assert.equal(code, 1)
    assert.match(said, /^It failed again: no late\. `trivium dead-letter show /)
  })
})

describe('removing many', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  await site.start()

  test('needs --yes without a terminal, and says how many it would remove', async () => {
    for (const text of ['bad 1', 'bad 2']) await site.run(['message', 'cli', text])
    for (const command of [
      ['dead-letter', 'drop', '--all'],
      ['dead-letter', 'bulk', '--do', 'drop'],
      ['dead-letter', 'bulk', 'drop', '--json'],
    ]) {
      const refused = await site.run(command)
      assert.deepEqual([refused.code, refused.out], [2, ''])
      assert.match(refused.err, /This would drop 2 dead letters\. Add --yes to do it\./)
    }
    assert.equal((await site.run(['dead-letter', 'bulk', 'drop', '--yes'])).code, 0)
    await until(
      async () => (await site.run(['dead-letter', 'list'])).err === 'No dead letters.\n',
      'no letters',
    )
    assert.equal(
      (await site.run(['dead-letter', 'drop', '--all'])).out,
      '0 dead letters dropped: none matches.\n',
    )
  })

  test('every built-in skill that destroys names one record, has confirm, or needs --yes', () => {
    const unconfirmed = builtInSkills.flatMap((skill) => {
      if (Object(skill.metadata?.annotations).destructiveHint !== true) return []
      const { required = [], properties } = skillJsonSchema(skill)
      const namesOne = [required].flat().some((name) => NAMING.has(String(name)))
      const isConfirmed = Object.hasOwn(Object(properties), 'confirm') || Object.hasOwn(CONFIRMED, skill.name)
      return namesOne || isConfirmed || ALONE.has(skill.name) ? [] : [skill.name]
    })
    assert.deepEqual(unconfirmed, [])
  })
})

/** Arguments that name one record. */
const NAMING = new Set(['id', 'key', 'name', 'ref', 'messageId', 'team', 'topic'])
/** Skills that remove one record, named by one of several arguments; or with a command of its own. */
const ALONE = new Set(['forget', 'send-cancel', 'dead-letter-drop'])

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

/** Lines that people type, and what the answer names. All are usage errors. */
const TYPOS: readonly [line: string, hint: RegExp][] = [
  ['message ls', /Did you mean `trivium message list`\?/],
  ['message get 01a22a47', /Did you mean `trivium message show`\?/],
  ['message delete 01a22a47', /Did you mean `trivium message erase`\?/],
  ['dead-letter delete 12345678', /Did you mean `trivium dead-letter drop`\?/],
  ['dead-letter get 12345678', /Did you mean `trivium dead-letter show`\?/],
  ['dead-letter redrive 12345678', /Did you mean `trivium dead-letter retry`\?/],
  ['gateway stop cli', /Did you mean `trivium gateway pause`\?/],
  ['gateway start cli', /Did you mean `trivium gateway resume`\?/],
  ['gateway describe cli', /Did you mean `trivium gateway show`\?/],
  ['route disable rest', /Did you mean `trivium route pause`\?/],
  ['route enable rest', /Did you mean `trivium route resume`\?/],
  ['route validate', /Did you mean `trivium route check`\?/],
  ['run stop 01a22a47', /Did you mean `trivium run cancel`\?/],
  ['run kill 01a22a47', /Did you mean `trivium run cancel`\?/],
  ['job kill 01a22a47', /Did you mean `trivium job cancel`\?/],
  ['person view ada', /Did you mean `trivium person show`\?/],
  ['person delete ada', /Did you mean `trivium person erase`\?/],
  ['subscription add crm', /Did you mean `trivium subscription create`\?/],
  ['subscription rm crm', /Did you mean `trivium subscription delete`\?/],
  ['skill run echo', /A skill is a command by its name: `trivium echo`/],
  ['skill logs echo', /`trivium skill usage echo`/],
  ['config check', /`trivium route check`/],
  ['trouble describe', /Did you mean `trivium trouble show`\?/],
  ['state put a b', /Did you mean `trivium state set`\?/],
  ['version', /`trivium --version`/],
  ['stop', /SIGTERM.*`trivium status` has its pid/],
  ['restart', /`trivium reload`/],
  ['ps', /`trivium run list`/],
  ['validate', /`trivium route check`/],
  ['status --watch', /--watch redraws a terminal/],
  ['trouble list -f', /`trivium top` is the live view/],
  ['message list --follow', /`trivium tail` prints each new message/],
  ['message list --last 5', /Did you mean --limit 5\?/],
  ['message list --outcome deadd', /did you mean "dead"/],
  ['message list --outcome success', /did you mean "done"/],
  ['message list --limit ten', /--limit takes a whole number, not "ten"/],
  ['approval list --status open', /did you mean "pending"/],
  ['approval decide 12345678 --deny', /Did you mean --no-approve\?/],
  ['audit --since 2 days', /Write a duration in one word, such as 2d/],
  ['refusal list cli', /For a gateway: `trivium refusal list --gateway cli`/],
]

describe('a command line as in other tools, or with a typo', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: rest, match: { gateway: cli }, skill: echo }]\n' })
  await site.start()

  test('is answered with the command that is meant', async () => {
    for (const [line, hint] of TYPOS) {
      const { code, out, err } = await site.run(line.split(' '))
      assert.match(err, hint, line)
      assert.deepEqual([code, out], [2, ''], line)
    }
  })

  test('an unknown trouble names the list', async () => {
    const { code, err } = await site.run(['trouble', 'ack', 'zz'])
    assert.equal(code, 1)
    assert.match(err, /There is no trouble zz\. `trivium trouble list` lists them\./)
  })
})

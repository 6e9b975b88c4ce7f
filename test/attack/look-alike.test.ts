import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat:
    transport: websocket
    path: /chat
    tokens: { Admin: "Admin's long token", admin: "admin's long token" }
access:
  roles:
    boss: { members: ['chat:Admin'], skills: [pay] }
    all: { members: ['*'], skills: [ask-first, decide] }
routes:
  - { name: pay, match: { prefix: pay }, skill: pay }
  - { name: ask, match: { prefix: ask }, skill: ask-first }
  - { name: decide, match: { prefix: decide }, skill: decide }
`
const SKILLS = {
  pay: `export default { description: 'pays', run: () => 'paid' }`,
  'ask-first': `export default { description: 'asks first', metadata: { approval: { approvers: ['chat:Admin'] } }, run: () => 'done' }`,
  decide: `export default { description: 'decides', run: ({ args, manager }) =>
  manager.invoke('approval-decide', { id: args.text.split(' ')[1], approve: true }).then(() => 'decided', ({ code }) => code) }`,
}

describe('people whose names differ only in case', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS })
  const enter = (name: string) =>
    suite.daemon.chat(`/chat?token=${encodeURIComponent(`${name}'s long token`)}`)

  test('do not have the skills of each other', async () => {
    const { ask: boss } = await enter('Admin')
    const other = await enter('admin')
    assert.equal(await boss('pay'), 'paid')
    other.send({ text: 'pay' })
    const letter = await until(
      async () => Object(await suite.daemon.invoke('dead-letter-list', { group: 'pay' }))[0],
      'the refusal',
    )
    assert.match(letter.errors[0].message, /Skill pay for chat:admin is not allowed/)
  })

  test('cannot decide the approvals of each other', async () => {
    const { ask: other } = await enter('admin')
    const { ask: boss } = await enter('Admin')
    const notice = other('ask')
    const { id } = await until(
      async () => Object(await suite.daemon.invoke('approval-list', { status: 'pending' }))[0],
      'the request',
    )
    // The answer that an approval is needed.
    await notice
    assert.equal(await other(`decide ${id}`), 'forbidden')
    assert.equal(await boss(`decide ${id}`), 'decided')
  })
})

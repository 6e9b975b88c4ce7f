import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { mentionsOf } from '../../src/features/person/mentions.ts'
import { mentionsSentence } from '../../src/lib/mentions.ts'
import { acceptAll } from '../contract/store/kit.ts'
import { openStore } from '../runtime/support/store.ts'

const ADA = 'ada@example.com'
const from = (id: string) => ({ from: { id, address: id } })
const never = new AbortController().signal

/** Searches for Ada, who wrote the `own` messages on one gateway. */
async function searchIn(t: TestContext, gateways = ['shop']) {
  const store = await openStore(t)
  const person = {
    identities: gateways.map((gateway) => `${gateway}:${ADA}`),
    messages: new Set<string>(),
  }
  const search = async () => {
    const { open: _, ...found } = await mentionsOf(store.journal, person, () => false, never)
    return found
  }
  return { store, search }
}

describe('messages of others that name a person', () => {
  test('are found in any spelling of the case, and those of the person on any gateway are not', async (t) => {
    const { store, search } = await searchIn(t)
    await acceptAll(store, [`I am ${ADA}`], { gateway: 'shop', ...from(ADA) })
    await acceptAll(store, [`me again, ${ADA}`], { gateway: 'mail', ...from('Ada@example.com') })
    assert.deepEqual(await search(), { names: [ADA], messages: 0, done: true })
    await acceptAll(store, [`ask ${ADA.toUpperCase()}`, 'ask bob'], {
      gateway: 'shop',
      ...from('eve@example.com'),
    })
    assert.deepEqual(await search(), { names: [ADA], messages: 1, done: true })
  })

  test('are searched behind many messages of the person, once for an address on several gateways', async (t) => {
    const { store, search } = await searchIn(t, ['shop', 'mail'])
    await acceptAll(store, [`ask ${ADA}`], { gateway: 'shop', ...from('eve@example.com') })
    for (let n = 0; n < 3; n++)
      await acceptAll(store, Array(250).fill(`I am ${ADA}`), { gateway: 'shop', ...from(ADA) })
    assert.deepEqual(await search(), { names: [ADA], messages: 1, done: true })
  })

  test('are counted up to 500, and the result says from which time on all were searched', async (t) => {
    const { store, search } = await searchIn(t)
    for (let n = 0; n < 3; n++)
      await acceptAll(store, Array(250).fill(`ask ${ADA}`), { gateway: 'shop', ...from('eve@example.com') })
    const { messages, done, searchedTo } = await search()
    assert.ok(messages >= 500 && messages < 750, `${messages}`)
    assert.equal(done, false)
    assert.ok(Math.abs(Date.now() - Number(searchedTo)) < 3_600_000)
  })

  test('a sentence says how many there are, and how far was searched', () => {
    const sentence = (messages: number, done = true) =>
      mentionsSentence({ names: [ADA, 'U1'], messages, done, searchedTo: 5 }, (at) => `time ${at}`)
    assert.equal(sentence(0), `No message of others has ${ADA} or U1 in its text.`)
    assert.equal(
      sentence(0, false),
      `No message of others since time 5 has ${ADA} or U1 in its text; older ones were not searched.`,
    )
    assert.equal(sentence(1), `1 message of others has ${ADA} or U1 in the text.`)
    assert.equal(sentence(1_200, false), `1,200 messages or more of others have ${ADA} or U1 in the text.`)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { mail, replyTo, startWorld, type World } from './harness.ts'

describe('the email transport on a real mailbox', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())

  test('a mail that arrives is accepted, and its answer reads as a reply in the sender’s mailbox', async () => {
    const daemon = await world.daemon()
    await world.deliver(
      mail({ id: 'first@example.net', subject: 'Parcel', text: 'Where is it?\n\n-- \nAnna' }),
    )
    const message = await until(() => daemon.store.messages[0], 'the message')
    assert.equal(message.text, 'Where is it?')
    assert.equal(message.from.address, 'anna@example.net')
    assert.equal(message.from.name, 'Anna')
    assert.equal(message.to, 'support@example.com')
    assert.equal(message.subject, 'Parcel')
    assert.equal(message.key, 'mid:<first@example.net>')

    const receipt = await daemon.transport.send(replyTo(message, 'It is **on its way**.'))
    const [answer = ''] = await until(async () => {
      const mails = await world.mailbox('anna@example.net')
      return mails.length > 0 ? mails : undefined
    }, 'the answer in the mailbox of the sender')
    assert.match(answer, /^From: support@example\.com/m)
    assert.match(answer, /^To: Anna <anna@example\.net>/m)
    assert.match(answer, /^Subject: Re: Parcel/m)
    assert.match(answer, /^In-Reply-To: <first@example\.net>/m)
    assert.match(answer, /^References: <first@example\.net>/m)
    assert.match(answer, /^Auto-Submitted: auto-replied/m)
    assert.ok(answer.includes(`Message-ID: ${receipt.id}`))
    assert.match(answer, /^It is on its way\./m)
    assert.match(answer.replaceAll('=\r\n', ''), /<strong>on its way<\/strong>/)
    await daemon.stop()
  })
})

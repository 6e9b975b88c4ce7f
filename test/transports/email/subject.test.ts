import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bareSubject, kindOfMail, prefixOf } from '../../../transports/email/inbound/subject.ts'
import { inProportion } from '../../fixtures/in-time.ts'

const REPLY =
  'Re:|RE :|Re[2]:|Re(2):|RE:RE:|AW:|Antw:|Antwort:|SV:|VS:|R:|Rif:|Réf. :|RES:|Odp:|YNT:|Vá:|ΑΠ:|Ответ:|Отв:|' +
  'Atb.:|回复：|回覆:|答覆:|返信:|회신:|[EXT] Re:|Re: [EXT] Re:|AW: [EXTERN] Re:|Re: Fwd:'
const FORWARD =
  'Fwd:|FW:|WG:|TR:|RV:|ENC:|PD:|VB:|VL:|I:|Doorst:|İLT:|Továbbítás:|转发:|轉寄:|転送:|전달:|[SUP-1] Fwd:|Fwd: Re:'
const OTHER = 'Regarding: you|r: x|Order: 12|Invoice|Red: green|[Re] x|Reference: x|Forwarding address'

describe('the prefix of a subject', () => {
  test('marks a reply or a forward in the languages of mail clients, and is not any word with a colon', () => {
    for (const prefix of REPLY.split('|')) assert.equal(bareSubject(`${prefix} Parcel`), 'Parcel')
    for (const prefix of `${REPLY}|${FORWARD}`.split('|')) {
      const kind = FORWARD.split('|').includes(prefix) ? 'forward' : 'reply'
      assert.equal(prefixOf(`${prefix} Parcel`), kind, prefix)
    }
    for (const subject of OTHER.split('|')) {
      assert.equal(prefixOf(subject), undefined, subject)
      assert.equal(bareSubject(subject), subject)
    }
  })

  test('is removed without the number of a ticket', () => {
    assert.equal(bareSubject('[SUP-1] RE: Parcel'), '[SUP-1] Parcel')
    assert.equal(bareSubject('RE: [SUP-1] Parcel'), '[SUP-1] Parcel')
  })

  test('is found in proportional time', async () => {
    for (const piece of [' ', 're ', '[', '[a]', '[a] ', 'Re: ', '[ext] ', '(1)']) {
      await inProportion(piece, 100_000, (size) => bareSubject(`re${piece.repeat(size / piece.length)}`))
    }
  })
})

describe('a mail', () => {
  const refers = { inReplyTo: '<1@x>', references: ['<1@x>'] }

  test('is a forward, a reply or a first mail, by its subject and references', () => {
    assert.equal(kindOfMail({ subject: 'Fwd: Parcel', ...refers }), 'forward')
    assert.equal(kindOfMail({ subject: 'Re: Fwd: Parcel', references: [] }), 'reply')
    assert.equal(kindOfMail({ subject: 'Parcel', ...refers }), 'reply')
    assert.equal(kindOfMail({ subject: 'Parcel', references: [] }), 'first')
  })

  test('with an ambiguous prefix is a reply only if it has references', () => {
    for (const subject of ['R: how do I use lm()?', 'HA: cluster down', 'Res: a question']) {
      assert.equal(kindOfMail({ subject, references: [] }), 'first', subject)
      assert.equal(kindOfMail({ subject, references: ['<a@b>'] }), 'reply', subject)
    }
    assert.equal(kindOfMail({ subject: 'AW: Parcel', references: [] }), 'reply')
  })
})

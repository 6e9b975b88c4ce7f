import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { inProportion, inTime } from '../../fixtures/in-time.ts'
import { mail } from './harness.ts'

const calendar = (...lines: string[]) =>
  ['BEGIN:VCALENDAR', 'PRODID:-//Example//EN', 'VERSION:2.0', ...lines, 'END:VCALENDAR'].join('\r\n')
const event = (...lines: string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT']
/** Parses a mail that has only this content. */
const parseAlone = (content: string, type = 'text/calendar; charset=utf-8; method=REQUEST') =>
  parseMail(Buffer.from(mail({ subject: 'Sync', text: content, headers: { 'Content-Type': type } })))

/** Invitations in the format of Google Calendar and Outlook. */
const google = calendar(
  'METHOD:REQUEST',
  ...event(
    'DTSTART:20261203T090000Z',
    'DTEND:20261203T100000Z',
    'DTSTAMP:20261127T120000Z',
    'ORGANIZER;CN=Bob Smith:mailto:Bob@example.org',
    'UID:7kukuqrfedlm2f9t0vrk6vh5n8@google.com',
    'ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=anna@',
    ' example.net;X-NUM-GUESTS=0:mailto:anna@example.net',
    'ATTENDEE;PARTSTAT=ACCEPTED;CN=Bob Smith:mailto:Bob@example.org',
    'DESCRIPTION:First line\\n\\nhttps://meet.example/x\\, and more',
    'LOCATION:Room 1\\, Berlin',
    'SEQUENCE:2',
    'STATUS:CONFIRMED',
    'SUMMARY:Sync\\; weekly',
  ),
)
const outlook = calendar(
  'METHOD:REQUEST',
  'BEGIN:VTIMEZONE',
  'TZID:W. Europe Standard Time',
  'BEGIN:STANDARD',
  'DTSTART:16010101T030000',
  'TZOFFSETFROM:+0200',
  'TZOFFSETTO:+0100',
  'RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10',
  'END:STANDARD',
  'BEGIN:DAYLIGHT',
  'DTSTART:16010101T020000',
  'TZOFFSETFROM:+0100',
  'TZOFFSETTO:+0200',
  'RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3',
  'END:DAYLIGHT',
  'END:VTIMEZONE',
  ...event(
    'ORGANIZER;CN=Müller:MAILTO:mueller@example.org',
    'ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=Anna:MAILTO:Anna@example.net',
    'SUMMARY;LANGUAGE=de-DE:Gespräch',
    'DTSTART;TZID=W. Europe Standard Time:20261203T100000',
    'DTEND;TZID=W. Europe Standard Time:20261203T110000',
    'UID:040000008200E00074C5B7101A82E008',
    'LOCATION;LANGUAGE=de-DE:Büro',
  ),
)

describe('an invitation', () => {
  test('of Google Calendar is read, and is a readable text', async () => {
    const { invitation, text, parts } = await parseAlone(google)
    assert.deepEqual(invitation, {
      method: 'REQUEST',
      uid: '7kukuqrfedlm2f9t0vrk6vh5n8@google.com',
      summary: 'Sync; weekly',
      start: '2026-12-03T09:00:00Z',
      end: '2026-12-03T10:00:00Z',
      location: 'Room 1, Berlin',
      description: 'First line\n\nhttps://meet.example/x, and more',
      organiser: 'bob@example.org',
      organiserName: 'Bob Smith',
      attendees: ['anna@example.net', 'bob@example.org'],
      sequence: 2,
    })
    assert.equal(
      text,
      `Invitation: Sync; weekly
When: Thu 3 Dec 2026, 09:00 to 10:00 (UTC)
Where: Room 1, Berlin
Organiser: Bob Smith <bob@example.org>
Attendees: anna@example.net, bob@example.org

First line

https://meet.example/x, and more`,
    )
    assert.deepEqual(
      parts.map(({ name }) => name),
      ['invite.ics'],
    )
  })

  test('of Outlook is read in the time zone that it defines', async () => {
    const { invitation } = await parseAlone(outlook)
    assert.equal(invitation?.start, '2026-12-03T09:00:00Z')
    assert.equal(invitation?.end, '2026-12-03T10:00:00Z')
    assert.deepEqual([invitation?.summary, invitation?.organiserName], ['Gespräch', 'Müller'])
  })

  const times: [kind: string, lines: string[], start: string, end: string | undefined, when: string][] = [
    [
      'in a time zone by its name',
      ['DTSTART;TZID=America/New_York:20260701T090000', 'DURATION:PT1H30M'],
      '2026-07-01T13:00:00Z',
      '2026-07-01T14:30:00Z',
      'When: Wed 1 Jul 2026, 09:00 to 10:30 (America/New_York)',
    ],
    [
      'all day',
      ['DTSTART;VALUE=DATE:20261203', 'DTEND;VALUE=DATE:20261205'],
      '2026-12-03',
      '2026-12-05',
      'When: Thu 3 Dec 2026 to Sat 5 Dec 2026',
    ],
    [
      'without a zone',
      ['DTSTART:20261203T090000'],
      '2026-12-03T09:00:00',
      undefined,
      'When: Thu 3 Dec 2026, 09:00',
    ],
    [
      'in a time zone of Windows that the calendar does not define',
      [
        'DTSTART;TZID=Romance Standard Time:20260701T160000',
        'DTEND;TZID=Romance Standard Time:20260701T163000',
      ],
      '2026-07-01T14:00:00Z',
      '2026-07-01T14:30:00Z',
      'When: Wed 1 Jul 2026, 16:00 to 16:30 (Romance Standard Time)',
    ],
    [
      'in a time zone of Windows with a number',
      ['DTSTART;TZID=GMT Standard Time 1:20260701T120000'],
      '2026-07-01T11:00:00Z',
      undefined,
      'When: Wed 1 Jul 2026, 12:00 (GMT Standard Time 1)',
    ],
    [
      'in a time zone with the prefix of a program',
      ['DTSTART;TZID=/example.org/20260101_1/America/Argentina/Buenos_Aires:20260701T090000'],
      '2026-07-01T12:00:00Z',
      undefined,
      'When: Wed 1 Jul 2026, 09:00 (/example.org/20260101_1/America/Argentina/Buenos_Aires)',
    ],
    [
      'in a time zone whose name has a colon, without quotes',
      ['DTSTART;TZID=tzone://Microsoft/Utc:20260701T090000'],
      '2026-07-01T09:00:00Z',
      undefined,
      'When: Wed 1 Jul 2026, 09:00 (tzone://Microsoft/Utc)',
    ],
    [
      'with a fixed offset',
      ['DTSTART;TZID=GMT+0530:20260701T090000'],
      '2026-07-01T03:30:00Z',
      undefined,
      'When: Wed 1 Jul 2026, 09:00 (GMT+0530)',
    ],
    [
      'in a time zone by an old name',
      ['DTSTART;TZID=US/Eastern:20260701T090000'],
      '2026-07-01T13:00:00Z',
      undefined,
      'When: Wed 1 Jul 2026, 09:00 (US/Eastern)',
    ],
    [
      'in a time zone with only a description',
      ['DTSTART;TZID=(UTC+01:00) Amsterdam, Berlin:20260701T090000'],
      '2026-07-01T09:00:00',
      undefined,
      'When: Wed 1 Jul 2026, 09:00 ((UTC+01:00) Amsterdam, Berlin)',
    ],
    [
      'in an unknown time zone',
      ['DTSTART;TZID=Nowhere:20261203T090000'],
      '2026-12-03T09:00:00',
      undefined,
      'When: Thu 3 Dec 2026, 09:00 (Nowhere)',
    ],
    [
      'that repeats',
      ['DTSTART:20261203T090000Z', 'RRULE:FREQ=WEEKLY;COUNT=3'],
      '2026-12-03T09:00:00Z',
      undefined,
      'When: Thu 3 Dec 2026, 09:00 (UTC), repeats: FREQ=WEEKLY;COUNT=3',
    ],
  ]
  for (const [kind, lines, start, end, when] of times) {
    test(`is read: ${kind}`, async () => {
      const { invitation, text } = await parseAlone(
        calendar('METHOD:REQUEST', ...event('UID:1', 'SUMMARY:x', ...lines)),
      )
      assert.deepEqual([invitation?.start, invitation?.end, text.split('\n')[1]], [start, end, when])
    })
  }

  test('ends after its duration: days by the calendar, hours and minutes by the clock', async () => {
    const berlin = 'DTSTART;TZID=Europe/Berlin:20260328T120000'
    for (const [start, duration, end] of [
      ['DTSTART;VALUE=DATE:20261203', 'P1D', '2026-12-04'],
      ['DTSTART;VALUE=DATE:20261203', 'P2W', '2026-12-17'],
      ['DTSTART:20261203T090000', 'PT1H30M', '2026-12-03T10:30:00'],
      ['DTSTART:20261203T230000', 'P1DT2H', '2026-12-05T01:00:00'],
      // The clocks change in the night to 29 March.
      [berlin, 'P1D', '2026-03-29T10:00:00Z'],
      [berlin, 'PT24H', '2026-03-29T11:00:00Z'],
      [berlin, 'P99999999999999D', undefined],
    ] as const) {
      const lines = event('UID:1', 'SUMMARY:x', start, `DURATION:${duration}`)
      const { invitation } = await parseAlone(calendar('METHOD:REQUEST', ...lines))
      assert.deepEqual([invitation?.uid, invitation?.end], ['1', end], `${start} ${duration}`)
    }
  })

  test('may be a task: it ends when it is due', async () => {
    const task = ['BEGIN:VTODO', 'UID:1', 'DTSTART:20261203T090000Z', 'DUE:20261204T090000Z', 'END:VTODO']
    const { invitation } = await parseAlone(calendar('METHOD:REQUEST', ...task))
    assert.deepEqual([invitation?.start, invitation?.end], ['2026-12-03T09:00:00Z', '2026-12-04T09:00:00Z'])
  })

  test('may be an answer or a cancellation', async () => {
    const attendee = 'ATTENDEE;PARTSTAT=TENTATIVE:mailto:anna@example.net'
    const reply = await parseAlone(
      calendar('METHOD:REPLY', ...event('UID:1', 'SUMMARY:Sync', attendee)),
      'text/calendar',
    )
    assert.deepEqual([reply.invitation?.method, reply.invitation?.answer], ['REPLY', 'tentative'])
    assert.equal(reply.text, 'Tentatively accepted: Sync\nBy: anna@example.net')
    const cancel = await parseAlone(
      calendar('METHOD:CANCEL', ...event('UID:1')),
      'text/calendar; method=CANCEL',
    )
    assert.deepEqual(cancel.invitation, { method: 'CANCEL', uid: '1', attendees: [] })
    assert.equal(cancel.text, 'Sync')
    const typed = await parseAlone(
      calendar(...event('UID:1', 'SUMMARY:Sync')),
      'text/calendar; method="cancel"',
    )
    assert.deepEqual([typed.invitation?.method, typed.text], ['CANCEL', 'Cancelled: Sync'])
  })

  test('is found in a file beside a text', async () => {
    for (const type of [
      'text/calendar; method=REQUEST',
      'application/ics; name=a.ics',
      'application/octet-stream; name=a.ics',
    ]) {
      const body = `--b\nContent-Type: text/plain\n\nPlease come.\n--b\nContent-Type: ${type}\nContent-Transfer-Encoding: base64\n\n${Buffer.from(google).toString('base64')}\n--b--`
      const { text, invitation } = await parseAlone(body, 'multipart/mixed; boundary=b')
      assert.deepEqual([text, invitation?.summary], ['Please come.', 'Sync; weekly'], type)
    }
  })

  test('that is invalid is an attachment, and invalid fields are ignored', async () => {
    const broken = ['', 'BEGIN:VCALENDAR', 'hello', calendar('BEGIN:VEVENT'), calendar(), '\0'.repeat(100)]
    for (const content of broken) {
      const { invitation, parts } = await parseAlone(content)
      assert.deepEqual([invitation, parts.length], [undefined, 1], content)
    }
    const odd = await parseAlone(
      calendar('METHOD:REQUEST', ...event('DTSTART:tomorrow', 'ORGANIZER:nobody', 'SEQUENCE:x', 'UID:1')),
    )
    assert.deepEqual([odd.invitation?.uid, odd.invitation?.start], ['1', undefined])
    const unfolded = await parseAlone(
      calendar(...event('DESCRIPTION:one', 'two is a line of its own', 'UID:2')),
    )
    assert.equal(unfolded.invitation?.uid, '2')
  })

  test('is read in bounded time', async () => {
    for (const piece of [
      'ATTENDEE;CN=a:mailto:a@x.org\r\n',
      'A;',
      '"',
      'X:y\r\n ',
      'BEGIN:VEVENT\r\n',
      'RRULE:FREQ=SECONDLY\r\n',
    ])
      await inProportion(piece, 200_000, (size) =>
        parseAlone(calendar('BEGIN:VEVENT', piece.repeat(size / piece.length), 'END:VEVENT')),
      )
  })
})

describe('clock changes of a time zone', () => {
  const withRules = (start: string, ...rules: string[]) =>
    calendar(
      ...['BEGIN:VTIMEZONE', 'TZID:Own'],
      ...rules.flatMap((rule) => [
        ...['BEGIN:STANDARD', `DTSTART:${start}`, 'TZOFFSETFROM:+0100', 'TZOFFSETTO:+0200'],
        ...[`RRULE:${rule}`, 'END:STANDARD'],
      ]),
      'END:VTIMEZONE',
      ...event('UID:1', 'DTSTART;TZID=Own:20261203T100000'),
    )
  const startOf = async (content: string) => (await parseAlone(content)).invitation?.start

  for (const rule of [
    'FREQ=SECONDLY',
    'FREQ=HOURLY',
    'FREQ=YEARLY;BYDAY=SU',
    'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;BYDAY=SU',
    'FREQ=YEARLY;BYMONTH=3;BYDAY=1SU;BYSETPOS=9',
  ])
    test(`are not computed for ${rule}`, async () => {
      const content = withRules('19700101T000000', rule)
      assert.equal(await inTime(rule, 100, () => startOf(content)), '2026-12-03T08:00:00Z')
    })

  test('take little time with many rules since the year 1', async () => {
    const content = withRules('00010101T000000', ...Array.from({ length: 1000 }, () => 'FREQ=YEARLY'))
    assert.equal(await inTime('rules', 200, () => startOf(content)), '2026-12-03T08:00:00Z')
  })

  test('that ended are not continued', async () => {
    const content = withRules('19600101T000000', 'FREQ=YEARLY;UNTIL=19650101T000000Z')
    assert.equal(await startOf(content), '2026-12-03T08:00:00Z')
  })
})

describe('a mail is marked as encrypted:', () => {
  const armour = '-----BEGIN PGP MESSAGE-----\n\nhQEMA+9mpkO5t3WYAQf/\n=aBcD\n-----END PGP MESSAGE-----'
  const der = (hex: string) => Buffer.from(`3080${hex}${'00'.repeat(40)}`, 'hex').toString('base64')
  const enveloped = der('06092a864886f70d010703')
  const signed = der('06092a864886f70d010702')
  const base64 = (type: string, content: string) =>
    `Content-Type: ${type}\nContent-Transfer-Encoding: base64\n\n${content}`
  const read = async (rest: string) => parseMail(Buffer.from(`From: a@example.net\n${rest}`))

  const encrypted: [kind: string, rest: string][] = [
    [
      'PGP/MIME',
      `Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\nContent-Type: application/octet-stream; name=encrypted.asc\n\n${armour}\n--b--`,
    ],
    [
      'PGP/MIME whose type was removed by Exchange',
      `Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\nContent-Type: application/octet-stream\n\n${armour}\n--b--`,
    ],
    ['PGP in the text', `Content-Type: text/plain\n\n${armour}\n`],
    ['PGP in the text after other words', `Content-Type: text/plain\n\nRead this:\n\n${armour}\n`],
    ['S/MIME', base64('application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m', enveloped)],
    ['S/MIME by its old type', base64('application/x-pkcs7-mime; name=smime.p7m', enveloped)],
    ['S/MIME by its file', base64('application/octet-stream; name=smime.p7m', enveloped)],
    ['S/MIME with AES-GCM', base64('application/pkcs7-mime', der('060b2a864886f70d0109100117'))],
  ]
  for (const [kind, rest] of encrypted) {
    test(kind, async () => {
      const { unreadable, parts, text } = await read(rest)
      assert.equal(unreadable, 'encrypted')
      assert.ok(parts.length > 0 || text.includes('BEGIN PGP'), 'the content is kept')
    })
  }

  test('but not if it is only signed', async () => {
    const detached = `Content-Type: multipart/signed; protocol="application/pkcs7-signature"; boundary=b\n\n--b\n\nhello\n--b\n${base64('application/pkcs7-signature; name=smime.p7s', signed)}\n--b--`
    const pgp =
      '-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nhello\n-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----'
    const question = 'I do not understand this:\n\n> -----BEGIN PGP MESSAGE-----\n> x'
    for (const rest of [detached, `\n${pgp}`, `\n${question}`])
      assert.equal((await read(rest)).unreadable, undefined)
    const opaque = await read(
      base64('application/pkcs7-mime; smime-type=signed-data; name=smime.p7m', signed),
    )
    assert.match(opaque.unreadable ?? '', /inside the signature smime\.p7m/)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { toMessage } from '../../../transports/email/inbound/to-message.ts'
import { fromFlowed } from '../../../transports/email/mime/flowed.ts'
import fc from '../../fixtures/fast-check.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')
const read = (head: string, body: string | Buffer = 'hi') =>
  parseMail(Buffer.concat([Buffer.from(`From: a@example.net\n${head}\n\n`), Buffer.from(body)]))
const textOf = async (head: string, body: string | Buffer) => (await read(head, body)).text.trim()

describe('a text in format=flowed', () => {
  const cases: [title: string, flowed: string, text: string, delSp?: true][] = [
    // The examples of RFC 3676.
    ['joins the lines of a paragraph', 'one \ntwo\nthree', 'one two\nthree'],
    [
      'ends a quote before a line without a mark',
      '> Can you come? \nNo, Monday.',
      '> Can you come? \nNo, Monday.',
    ],
    ['ends a paragraph before a quote', 'You wrote: \n> Friday?', 'You wrote: \n> Friday?'],
    ['does not join quotes of different depths', '>> a \n> b \nc', '>> a \n> b \nc'],
    ['joins lines within a quote', '> one \n> two', '> one two'],
    ['removes the blank that stuffs a line', ' From here\n  two', 'From here\n two'],
    ['keeps the space before a > that is not a quote', ' > 5 items', ' > 5 items'],
    ['joins no line to a signature, nor a signature to the next', 'bye \n-- \nAnna', 'bye \n-- \nAnna'],
    ['keeps the signature of a quote', '> bye \n> -- \n> Bob', '> bye \n> -- \n> Bob'],
    ['keeps an empty line after a line that ends in a blank', 'one \n\ntwo', 'one \n\ntwo'],
    ['removes trailing spaces with DelSp', '日本 \n語', '日本語', true],
    ['keeps a second trailing space with DelSp', 'two  \nwords', 'two words', true],
    ['keeps an empty line in a quote', '> a\n>\n> b', '> a\n>\n> b'],
  ]
  for (const [title, flowed, text, delSp] of cases)
    test(title, () => assert.equal(fromFlowed(flowed, delSp ?? false), text))

  test('keeps all words in order', () => {
    const line = fc.tuple(
      fc.constantFrom('', '> ', '>> ', ' '),
      fc.stringMatching(/^[a-z]{1,9}( [a-z]{1,9}){0,4} ?$/),
    )
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const flowed = lines.map(([mark, words]) => mark + words).join('\n')
        const words = (text: string) => text.replaceAll('>', ' ').split(/\s+/).filter(Boolean)
        assert.deepEqual(words(fromFlowed(flowed, false)), words(flowed))
      }),
    )
  })

  test('is read in a mail, also in quoted-printable', async () => {
    const head = 'Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes'
    assert.equal(await textOf(head, '> Friday? \nNo, \nMonday.'), '> Friday?\nNo,Monday.')
    const encoded = `${head.replace('; delsp=yes', '')}\nContent-Transfer-Encoding: quoted-printable`
    assert.equal(await textOf(encoded, 'a=20\nb\n> q=20\n=C3=BC'), 'a b\n> q \nü')
  })
})

describe('character sets', () => {
  const part = (charset: string) => `Content-Type: text/plain${charset ? `; charset=${charset}` : ''}`
  const bodies: [title: string, charset: string, body: Buffer, text: string][] = [
    ['UTF-8 labelled us-ascii', 'us-ascii', Buffer.from('Grüße aus Köln'), 'Grüße aus Köln'],
    ['UTF-8 labelled iso-8859-1', 'iso-8859-1', Buffer.from('naïve café'), 'naïve café'],
    ['UTF-8 labelled windows-1251', 'windows-1251', Buffer.from('Привет'), 'Привет'],
    ['UTF-8 without a label', '', Buffer.from('漢字'), '漢字'],
    ['Latin 1 labelled utf-8', 'utf-8', bytes('Gr\xfc\xdfe'), 'Grüße'],
    ['Latin 1 labelled us-ascii', 'us-ascii', bytes('Gr\xfc\xdfe'), 'Grüße'],
    ['Latin 1 without a label', '', bytes('caf\xe9'), 'café'],
    [
      'a cut letter in UTF-8 without a label',
      '',
      Buffer.from('Картинка с').subarray(0, -1),
      'Картинка \ufffd',
    ],
    ['a cut letter in UTF-8', 'utf-8', bytes('Gr\xc3\xbc\xc3'), 'Grü\ufffd'],
    ['UTF-8 labelled gb2312', 'gb2312', Buffer.from('你好，世界'), '你好，世界'],
    ['UTF-8 labelled iso-2022-jp', 'iso-2022-jp', Buffer.from('こんにちは'), 'こんにちは'],
    ['an unknown label', 'x-unknown', Buffer.from('Zoë'), 'Zoë'],
    ['a label in quotes that were encoded', '3D"utf-8"', Buffer.from('Zoë'), 'Zoë'],
    ['a label with a further parameter', 'utf-8;format=fixed', Buffer.from('Zoë'), 'Zoë'],
    ['windows-1252 named cp-1252', 'cp1252', bytes('\x93quoted\x94'), '“quoted”'],
    ['koi8-r', 'koi8-r', bytes('\xf0\xd2\xc9\xd7\xc5\xd4'), 'Привет'],
    ['gb2312 with letters of gbk', 'gb2312', bytes('\xc4\xe3\xba\xc3'), '你好'],
    ['a code page of DOS', 'cp850', bytes('Gr\x81\xe1e'), 'Grüße'],
    ['shift_jis', 'shift_jis', bytes('\x82\xb1\x82\xf1'), 'こん'],
    ['iso-2022-jp', 'iso-2022-jp', bytes('\x1b$B$3$s\x1b(B'), 'こん'],
    ['iso-2022-jp labelled us-ascii', 'us-ascii', bytes('\x1b$B$3$s\x1b(B'), 'こん'],
    ['a Korean syllable that only Windows has', 'ks_c_5601-1987', bytes('\xb0\xa1 \x8cc'), '가 똠'],
    ['the same under another label', 'EUC-KR', bytes('\x8cc'), '똠'],
    ['Cantonese labelled big5', 'big5', bytes('\x9d\xf7\xa6\x6e'), '咗好'],
    ['HZ', 'hz-gb-2312', bytes('a ~{Dc:C~} b'), 'a 你好 b'],
    ['iso-2022-kr', 'iso-2022-kr', bytes('\x1b$)C\x0e>H3g\x0f!'), '안녕!'],
    ['UTF-7', 'utf-7', bytes('Gr+APwA3w-e +- 1'), 'Grüße + 1'],
    ['UTF-7 under its long name', 'unicode-1-1-utf-7', bytes('+AOk-'), 'é'],
    ['a byte order mark that contradicts the label', 'iso-8859-1', bytes('\xef\xbb\xbf\xc3\xbc'), 'ü'],
  ]
  for (const [title, charset, body, text] of bodies)
    test(`of a body: ${title}`, async () => assert.equal(await textOf(part(charset), body), text))

  test('of an HTML page may be declared in the page', async () => {
    const html = bytes(
      '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>\xcf\xf0\xe8</p>',
    )
    assert.equal(await textOf('Content-Type: text/html', html), 'При')
  })

  const headers: [title: string, raw: Buffer, subject: string][] = [
    ['UTF-8', Buffer.from('Grüße'), 'Grüße'],
    ['Latin 1', bytes('Gr\xfc\xdfe'), 'Grüße'],
    ['iso-2022-jp without encoding', bytes('\x1b$B$3$s\x1b(B'), 'こん'],
    ['UTF-7 in Q', bytes('=?utf-7?Q?Gr+APwA3w-e?='), 'Grüße'],
    ['UTF-7 in B', bytes(`=?UTF-7?B?${Buffer.from('Gr+APwA3w-e').toString('base64')}?=`), 'Grüße'],
    ['UTF-8 in words labelled us-ascii', bytes('=?us-ascii?Q?Gr=C3=BC=C3=9Fe?='), 'Grüße'],
    ['a letter split over two encoded words', bytes('=?utf-8?Q?Gr=C3?=\n =?utf-8?Q?=BC?='), 'Grü'],
    [
      'a letter split over two encoded words in base64',
      bytes('=?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?='),
      'Grüße',
    ],
    ['encoded words in two character sets', bytes('=?iso-8859-1?Q?=FC?= =?utf-8?Q?=C3=BC?= x'), 'üü x'],
    ['an encoded word with a language', bytes('=?us-ascii*en?Q?hello?='), 'hello'],
    ['an incomplete encoded word', bytes('=?utf-8?Q?half'), '=?utf-8?Q?half'],
    [
      'letters without a glyph',
      Buffer.from(
        'Hi\u{e0049}\u{e0067}\u{e006e} \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
      ),
      'Hi 🏴󠁧󠁢󠁥󠁮󠁧󠁿',
    ],
  ]
  for (const [title, raw, subject] of headers) {
    test(`of a subject: ${title}`, async () => {
      const mail = await parseMail(Buffer.concat([Buffer.from('Subject: '), raw, Buffer.from('\n\nhi')]))
      assert.equal(mail.subject, subject)
    })
  }

  test('of 8-bit headers are UTF-8 or that of the body', async () => {
    const head =
      'Content-Type: text/plain; charset=windows-1251\nFrom: \xcf\xf0\xe8 <a@example.net>\nSubject: \xcf\xf0\xe8'
    const mail = await parseMail(bytes(`${head}\n\nhi`))
    assert.deepEqual([mail.subject, mail.from[0]?.name], ['При', 'При'])
  })

  test('of 8-bit headers are that of the first part if the container has none', async () => {
    const part = 'Content-Type: text/plain; charset="windows-1251"\n\nhi\n--B--'
    const head = 'Subject: \xcf\xf0\xe8\nContent-Type: multipart/mixed; boundary=B'
    const mail = await parseMail(bytes(`${head}\n\n--B\n${part}`))
    assert.deepEqual([mail.subject, mail.text.trim()], ['При', 'hi'])
  })

  test('do not turn bytes before a name into a header', async () => {
    for (const before of ['\xef\xbb\xbf', '\x1b$B\x1b(B', '\xa0', '\xef\xbb\xbf\xff']) {
      const raw = bytes(`${before}From: mallory@evil.example \xff\nFrom: anna@example.net\n\nhi`)
      const { from } = await parseMail(raw)
      assert.deepEqual(
        from.map(({ address }) => address),
        ['anna@example.net'],
      )
    }
  })

  test('of names are the same as for subjects', async () => {
    const mail = await read(
      'To: =?utf-7?Q?J+APw-rgen?= <j@example.com>, =?us-ascii?Q?J=C3=BCrgen?= <k@example.com>',
    )
    assert.deepEqual(
      mail.to.map(({ name }) => name),
      ['Jürgen', 'Jürgen'],
    )
  })
})

describe('the ids that a mail refers to are read', () => {
  const ids: [title: string, value: string, expected: string[]][] = [
    ['in an encoded word', '=?utf-8?Q?=3Ca=40example=2Ecom=3E?=', ['<a@example.com>']],
    ['in base64', `=?utf-8?B?${Buffer.from('<a@example.com>').toString('base64')}?=`, ['<a@example.com>']],
    ['over several words', '=?us-ascii?Q?=3Ca=40exam?=\n =?us-ascii?Q?ple.com=3E?=', ['<a@example.com>']],
    [
      'several, each in an encoded word',
      '=?utf-8?Q?=3Ca@x.y=3E?= =?utf-8?Q?=3Cb@x.y=3E?=',
      ['<a@x.y>', '<b@x.y>'],
    ],
    ['with an unescaped underscore', '=?utf-8?Q?<CAJ_x_1@mail.x>?=', ['<CAJ_x_1@mail.x>']],
    ['folded in the middle', '<a.very.long.id\n @example.com>', ['<a.very.long.id@example.com>']],
    ['without encoding', '<a@x.y>\n\t<b@x.y>', ['<a@x.y>', '<b@x.y>']],
    // As ProtonMail's bridge and Zend Mail wrote them.
    [
      'over three words, with an equals sign',
      '=?utf-8?q?=3CwJ6Gixv2LK?=\n =?utf-8?q?hqauM26AMCB8SA=3D=40eme?=\n =?utf-8?q?rsion=2Efr=3E?=',
      ['<wJ6Gixv2LKhqauM26AMCB8SA=@emersion.fr>'],
    ],
    ['with unescaped brackets', '=?UTF-8?Q?<eeb3b2a6@localhost.eu>?=', ['<eeb3b2a6@localhost.eu>']],
  ]
  for (const [title, value, expected] of ids) {
    test(title, async () => {
      const mail = await read(`References: ${value}\nIn-Reply-To: ${value}\nMessage-ID: ${value}`)
      const [first] = expected
      assert.deepEqual([mail.references, mail.inReplyTo, mail.messageId], [expected, first, first])
    })
  }
})

test('an id without brackets is read', async () => {
  for (const value of ['a8239b7f@localhost.eu', '=?UTF-8?Q?a8239b7f@localhost.eu?=']) {
    const mail = await read(`In-Reply-To: ${value}\nMessage-ID: ${value}`)
    assert.deepEqual([mail.inReplyTo, mail.messageId], ['<a8239b7f@localhost.eu>', '<a8239b7f@localhost.eu>'])
  }
})

describe('a multipart', () => {
  const parts =
    '--b\nContent-Type: text/plain\n\nwords\n--b\nContent-Type: image/png; name=a.png\n\nx\n--b--\n'
  for (const type of [
    'multipart/mixed\n\tboundary="b"',
    'multipart/mixed boundary=b',
    'multipart/mixed; charset=utf-8 boundary=b',
    'multipart/mixed; boundary = "b"',
    'multipart/mixed; boundary="b',
    'multipart/mixed; boundary="c"',
    'multipart/mixed',
    'Multipart/Mixed; type="text/html" boundary="b"; x',
    '=?utf-8?Q?multipart/mixed;_boundary=3Db?=',
    'multipart/mixed (a comment; of sorts); boundary=b',
    "multipart/mixed; boundary*=us-ascii''b",
    'multipart/mixed; boundary*0=""; boundary*1=b',
    'multipart/mixed;; boundary=b;',
    'multipart/mixed; boundary="b";; charset="us-ascii"',
    'multipart/mixed; boundary=\\"b\\"',
    'multipart/mixed\nContent-Type: multipart/mixed; boundary=b',
    'multipart/mixed; boundary=other\nContent-Type: multipart/mixed; boundary=b',
  ]) {
    test(`is split into its parts: ${type.replaceAll(/\s+/g, ' ')}`, async () => {
      const mail = await read(`MIME-Version: 1.0\nContent-Type: ${type}`, parts)
      assert.deepEqual([mail.text, mail.parts.map(({ name }) => name)], ['words', ['a.png']])
    })
  }

  test('is split into its parts if all of it is in base64', async () => {
    const body = Buffer.from(parts).toString('base64')
    const mail = await read(
      'Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: base64',
      body,
    )
    assert.equal(mail.text, 'words')
  })

  test('has parts with unchanged bytes, without the line break before a boundary', async () => {
    const body =
      '--b\r\n\r\nhi\r\n--b\r\nContent-Type: application/x\r\n\r\n\r\na\rb\r\n\nc \r\n\r\n--b--\r\n'
    const mail = await read('Content-Type: multipart/mixed; boundary=b', body)
    assert.equal(Buffer.from(mail.parts[0]?.content ?? []).toString(), '\r\na\rb\r\n\nc \r\n')
  })
})

describe('the name of a file', () => {
  const names: [title: string, head: string, name: string][] = [
    [
      'in an encoded word',
      'Content-Type: application/pdf; name="=?utf-8?Q?r=C3=A9sum=C3=A9.pdf?="',
      'résumé.pdf',
    ],
    [
      'in two encoded words',
      'Content-Type: a/b;\n name="=?utf-8?B?w6lj?=\n =?utf-8?B?b2xlLnBkZg==?="',
      'école.pdf',
    ],
    [
      'in the format of RFC 2231',
      "Content-Disposition: attachment; filename*=utf-8'fr'%C3%A9t%C3%A9.pdf",
      'été.pdf',
    ],
    [
      'in pieces, out of order',
      "Content-Disposition: attachment; filename*1*=%A9.pdf; filename*0*=utf-8''%C3",
      'é.pdf',
    ],
    [
      'in pieces that are not encoded',
      'Content-Disposition: attachment; filename*0=a%20; filename*1=b.pdf',
      'a%20b.pdf',
    ],
    ['in Latin 1', "Content-Disposition: attachment; filename*=iso-8859-1''%E9.pdf", 'é.pdf'],
    ['without quotes', 'Content-Disposition: attachment; filename=my file (1).pdf', 'my file (1).pdf'],
    ['with a path', 'Content-Disposition: attachment; filename="C:\\temp\\a.pdf"', 'a.pdf'],
    ['in an encoded header', 'Content-Disposition: =?utf-8?Q?attachment;_filename=3Da.pdf?=', 'a.pdf'],
    ['of an invitation', 'Content-Type: text/calendar; method=REQUEST', 'invite.ics'],
    ['of a part without a name', 'Content-Type: application/pdf', 'part-1'],
  ]
  for (const [title, head, name] of names) {
    test(title, async () => {
      const body = `--b\n\nhi\n--b\n${head}\n\nBEGIN\n--b--`
      const mail = await read('Content-Type: multipart/mixed; boundary=b', body)
      assert.deepEqual(
        mail.parts.map((part) => part.name),
        [name],
      )
    })
  }

  const forwarded: [subject: string, name: string][] = [
    ['Subject: Contract\n', 'Contract.eml'],
    ['Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\n', 'Grüße.eml'],
    ['Subject: a/b: ../../etc/passwd\n', 'a b .. .. etc passwd.eml'],
    ['', 'message.eml'],
  ]
  for (const [subject, name] of forwarded) {
    test(`of a forwarded mail: ${name}`, async () => {
      const body = `--b\n\nhi\n--b\nContent-Type: message/rfc822\n\n${subject}From: b@x.y\n\ntext\n--b--`
      const mail = await read('Content-Type: multipart/mixed; boundary=b', body)
      assert.deepEqual([mail.parts[0]?.name, mail.text], [name, 'hi'])
    })
  }
})

describe('a plain text that is only a placeholder for the HTML', () => {
  const page =
    '<html><body><h1>Your order</h1><p>The blue lamp was sent on Friday, with parcel service.</p></body></html>'
  const both = (plain: string, html = page) =>
    textOf(
      'Content-Type: multipart/alternative; boundary=b',
      `--b\nContent-Type: text/plain; charset=utf-8\n\n${plain}\n--b\nContent-Type: text/html\n\n${html}\n--b--`,
    )
  for (const stub of [
    'Your client does not support HTML',
    'Your email client does not support HTML messages. Please use a different client: https://example.com/v?x=1',
    'Ihr E-Mail-Programm unterstützt leider kein HTML.',
    'Votre logiciel de messagerie ne prend pas en charge le HTML.',
    'Su cliente de correo no admite HTML.',
    'Il tuo client di posta non supporta i messaggi HTML.',
    'Uw e-mailprogramma ondersteunt geen HTML.',
    'Seu cliente de e-mail não suporta HTML',
    'Twój program pocztowy nie obsługuje HTML.',
    'お使いのメールソフトはHTMLに対応していません。',
    '您的邮件客户端不支持HTML格式',
    'View this email in your browser: https://example.com/newsletter',
    'This message is in MIME format. Since your mail reader does not understand this format, some or all of it may not be legible.',
    'Please enable rich text to read this message.',
    'https://example.com/only-a-link',
    '\u00a0\n',
  ]) {
    test(`is replaced by the HTML: ${stub.trim().slice(0, 60)}`, async () => {
      assert.match(await both(stub), /^Your order\n+The blue lamp/)
    })
  }

  test('is not a text of a person', async () => {
    const texts = ['ok', 'The HTML is broken in my browser.', 'Yes', '👍', 'Please use plain text, not HTML!']
    for (const text of texts) assert.equal(await both(text, `<div>${text}</div>`), text)
    assert.equal(
      await both('Your order is late. Where is it?', '<img src=x> Unsubscribe'),
      'Your order is late. Where is it?',
    )
    const long = 'Dear all, this is what I wrote at length. '.repeat(40)
    assert.equal(
      await both(long, '<p>something else, and much of it, for people who see pages</p>'),
      long.trim(),
    )
  })
})

test('a long text with trailing spaces is complete in the message', async () => {
  for (const end of [' ', '\t', '  ', '']) {
    const raw = `From: a@example.net\n\n${`a log line that ends in a space${end}\r\n`.repeat(12_000)}THE END\n`
    const mail = await parseMail(Buffer.from(raw))
    const message = await toMessage(
      mail,
      {
        gateway: 'g',
        key: 'k',
        incoming: { folder: 'INBOX', uid: 1, size: 1 },
        identity: { result: 'none', by: 'off', detail: '' },
        auto: undefined,
        allowed: undefined,
        own: new Set(),
      },
      {
        save: async () => assert.fail('the text is not stored as a file'),
        open: () => assert.fail(),
      },
    )
    assert.match(message.text, /^a log line.*\nTHE END$/s)
    assert.ok(message.text.length > 370_000)
  }
})

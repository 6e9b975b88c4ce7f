import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newPart } from '../../../transports/email/inbound/reply-text.ts'
import fc from '../../fixtures/fast-check.ts'
import { inProportion } from '../../fixtures/in-time.ts'

const NEW = 'My new text.'
const QUOTED = '> old line\n> more old'
const UNMARKED = 'old line\nmore old'

/** The attribution of each client in its languages. */
const ATTRIBUTIONS: Record<string, string> = {
  'Gmail en': 'On Fri, Nov 20, 2026 at 12:00 PM Support <support@example.com> wrote:',
  'Gmail de': 'Am Fr., 20. Nov. 2026 um 12:00 Uhr schrieb Support <support@example.com>:',
  'Gmail fr': 'Le ven. 20 nov. 2026 à 12:00, Support <support@example.com> a écrit :',
  'Gmail es': 'El vie, 20 nov 2026 a las 12:00, Support (<support@example.com>) escribió:',
  'Gmail pt': 'Em sex., 20 de nov. de 2026 às 12:00, Support <support@example.com> escreveu:',
  'Gmail it': 'Il giorno ven 20 nov 2026 alle ore 12:00 Support <support@example.com> ha scritto:',
  'Gmail nl': 'Op vr 20 nov 2026 om 12:00 schreef Support <support@example.com>:',
  'Gmail sv': 'Den fre 20 nov. 2026 kl 12:00 skrev Support <support@example.com>:',
  'Gmail da': 'Den fre. 20. nov. 2026 kl. 12.00 skrev Support <support@example.com>:',
  'Gmail no': 'fre. 20. nov. 2026 kl. 12:00 skrev Support <support@example.com>:',
  'Gmail pl': 'pt., 20 lis 2026 o 12:00 Support <support@example.com> napisał(a):',
  'Gmail cs': 'pá 20. 11. 2026 v 12:00 odesílatel Support <support@example.com> napsal:',
  'Gmail sk': 'pi 20. 11. 2026 o 12:00 Support <support@example.com> napísal(a):',
  'Gmail hu': 'Support <support@example.com> ezt írta (időpont: 2026. nov. 20., P, 12:00):',
  'Gmail ro': 'În vin., 20 nov. 2026 la 12:00, Support <support@example.com> a scris:',
  'Gmail tr': 'Support <support@example.com>, 20 Kas 2026 Cum, 12:00 tarihinde şunu yazdı:',
  'Gmail el': 'Στις Παρ 20 Νοε 2026 στις 12:00 μ.μ., ο χρήστης Support <support@example.com> έγραψε:',
  'Gmail ru': 'пт, 20 нояб. 2026 г. в 12:00, Support <support@example.com>:',
  'Gmail uk': 'пт, 20 лист. 2026 р. о 12:00 Support <support@example.com> пише:',
  'Gmail ja': '2026年11月20日(金) 12:00 Support <support@example.com>:',
  'Gmail ko': '2026년 11월 20일 (금) 오후 12:00, Support <support@example.com>님이 작성:',
  'Gmail zh-CN': 'Support <support@example.com> 于2026年11月20日周五 12:00写道：',
  'Gmail zh-TW': 'Support <support@example.com> 於 2026年11月20日 週五 下午12:00寫道：',
  'Gmail vi': 'Vào Th 6, 20 thg 11, 2026 vào lúc 12:00 Support <support@example.com> đã viết:',
  'Apple en': 'On 20 Nov 2026, at 12:00, Support <support@example.com> wrote:',
  'Apple nl': 'Op 20 nov 2026 om 12:00 heeft Support <support@example.com> het volgende geschreven:',
  'Apple ja': '2026/11/20 12:00、Support <support@example.com>のメール:',
  Proton: 'On Friday, November 20th, 2026 at 12:00 PM, Support <support@example.com> wrote:',
  Yahoo: 'On Friday, November 20, 2026 at 12:00:00 PM GMT+1, Support <support@example.com> wrote:',
  AOL: 'In a message dated 11/20/2026 12:00:24 P.M. Central Daylight Time,\nsupport@example.com writes:',
  Airmail: 'On November 20, 2026 at 12:00:11 PM, Support (support@example.com) said:',
  'Gmail fa': 'در تاریخ جمعه ۲۰ نوامبر ۲۰۲۶،‏ 12:00 Support <support@example.com> نوشت:',
  'Outlook for Mac': 'On 11/20/26, 12:00 PM, "Support" <support@example.com> wrote:',
}
/**
 * Attributions without an address, or in an unknown language. They are recognised only above a
 * marked quote.
 */
const AMBIGUOUS = {
  'Thunderbird en': 'On 20/11/2026 12:00, Support wrote:',
  'Thunderbird de': 'Am 20.11.26 um 12:00 schrieb Support:',
  'Thunderbird ru': '20.11.2026 12:00, Support пишет:',
  'an unknown language': 'Vr 20 Nov 2026 12:00 het Support <support@example.com> geskryf:',
  'Gmail fi': 'ma 23. marrask. 2026 klo 12.00 Support (support@example.com) kirjoitti:',
  'mutt en': 'On Fri, Nov 20, 2026 at 12:00:00PM +0100, Support wrote:',
}

const BLOCKS: Record<string, string> = {
  en: 'From: Support <s@example.com>\nSent: Friday, November 20, 2026 12:00 PM\nTo: Anna <a@example.net>\nCc: Bob\nSubject: Re: X',
  'en, in bold': '*From:* Support <s@example.com>\n*Sent:* Friday\n*To:* Anna\n*Subject:* Re: X',
  'en, Apple': 'From: Support <s@example.com>\nSubject: Re: X\nDate: 20 November 2026\nTo: Anna',
  'en, Yahoo':
    'From: Support <s@example.com>\nTo: Anna <a@example.net>\nSent: Friday, November 20, 2026\nSubject: Re: X',
  'en, its lines apart': 'From: Support <s@example.com>\n\nSent: Friday\n\nTo: Anna\n\nSubject: Re: X',
  'en, a wrapped To':
    'From: Support\nSent: Friday, November 20, 2026 12:00 PM\nTo: Anna; Bob;\n Carla; Dora\nSubject: Re: X',
  'de, GMX':
    'Gesendet: Freitag, 20. November 2026 um 12:00 Uhr\nVon: Support <s@example.com>\nAn: a@example.net\nBetreff: Re: X',
  de: 'Von: Support\nGesendet: Freitag, 20. November 2026 12:00\nAn: Anna\nBetreff: Re: X',
  fr: 'De\u00a0: Support\nEnvoyé\u00a0: vendredi 20 novembre 2026 12:00\nÀ\u00a0: Anna\nObjet\u00a0: Re: X',
  es: 'De: Support\nEnviado el: viernes, 20 de noviembre de 2026 12:00\nPara: Anna\nAsunto: Re: X',
  pt: 'De: Support\nEnviada em: sexta-feira, 20 de novembro de 2026 12:00\nPara: Anna\nAssunto: Re: X',
  it: 'Da: Support\nInviato: venerdì 20 novembre 2026 12:00\nA: Anna\nOggetto: Re: X',
  nl: 'Van: Support\nVerzonden: vrijdag 20 november 2026 12:00\nAan: Anna\nOnderwerp: Re: X',
  sv: 'Från: Support\nSkickat: den 20 november 2026 12:00\nTill: Anna\nÄmne: Re: X',
  da: 'Fra: Support\nSendt: 20. november 2026 12:00\nTil: Anna\nEmne: Re: X',
  fi: 'Lähettäjä: Support\nLähetetty: perjantai 20. marraskuuta 2026 12.00\nVastaanottaja: Anna\nAihe: Re: X',
  pl: 'Od: Support\nWysłano: piątek, 20 listopada 2026 12:00\nDo: Anna\nTemat: Re: X',
  cs: 'Od: Support\nOdesláno: pátek 20. listopadu 2026 12:00\nKomu: Anna\nPředmět: Re: X',
  hu: 'Feladó: Support\nElküldve: 2026. november 20., péntek 12:00\nCímzett: Anna\nTárgy: Re: X',
  ro: 'De la: Support\nTrimis: vineri, 20 noiembrie 2026 12:00\nCătre: Anna\nSubiect: Re: X',
  tr: 'Kimden: Support\nGönderildi: 20 Kasım 2026 Cuma 12:00\nKime: Anna\nKonu: Re: X',
  el: 'Από: Support\nΣτάλθηκε: Παρασκευή, 20 Νοεμβρίου 2026 12:00\nΠρος: Anna\nΘέμα: Re: X',
  ru: 'От: Support\nОтправлено: 20 ноября 2026 г. 12:00\nКому: Anna\nТема: Re: X',
  ja: '差出人: Support\n送信日時: 2026年11月20日 12:00\n宛先: Anna\n件名: Re: X',
  'zh-CN': '发件人: Support\n发送时间: 2026年11月20日 12:00\n收件人: Anna\n主题: Re: X',
  'zh-TW': '寄件者： Support\n寄件日期： 2026年11月20日 12:00\n收件者： Anna\n主旨： Re: X',
  ko: '보낸 사람: Support\n보낸 날짜: 2026년 11월 20일 금요일 오후 12:00\n받는 사람: Anna\n제목: Re: X',
}

const ANNA = { name: 'Anna Ekman', address: 'anna.ekman@example.net' }

const DEVICES =
  'Sent from my iPhone|Von meinem iPhone gesendet|Enviado desde mi Samsung Galaxy|Get Outlook for iOS|' +
  'Отправлено с iPhone|发自我的iPhone|Sent from Yahoo Mail for iPhone|Envoyé de mon téléphone|' +
  'Get Outlook for iOS<https://aka.ms/o0ukef>|Get [Outlook for Android](https://aka.ms/x)|' +
  'Envoyé à partir de Outlook pour iOS<https://aka.ms/o0ukef>|Загрузите Outlook для iOS<https://aka.ms/o0ukef>|' +
  'iOS 版 Outlook を入手する<https://aka.ms/o0ukef>|Sent from TypeApp<http://www.typeapp.com/r?b=2621>|' +
  'Sent with [Proton Mail](https://proton.me/) secure email.|Von meinem/meiner Galaxy gesendet|' +
  'Sent from my cell, please excuse any typos.|Sent from my Wiko RIDGE FAB 4G|Verzonden vanuit Mail voor Windows'
const FORWARDS =
  '---------- Forwarded message ---------|-------- Weitergeleitete Nachricht --------|Begin forwarded message:|' +
  'Anfang der weitergeleiteten Nachricht:|Début du message réexpédié :|İleti başlangıcı:|' +
  '-------- Message transféré --------|-------- Перенаправленное сообщение --------'

/**
 * Further attributions from public reports: without brackets, with odd line breaks, without a
 * colon.
 */
const MORE_ATTRIBUTIONS: Record<string, string> = {
  'Gmail sv, in parentheses': 'Den 14 september 2026 02:23:18, Support (support@example.com) skrev:',
  'Gmail no, in parentheses': 'På 14 september 2026 på 02:23:18, Support (support@example.com) skrev:',
  'Gmail pt, in parentheses': 'Em 10 de julho de 2026 às 16:32:35, Support (\nsupport@example.com) escreveu:',
  'Gmail no, its end wrapped': 'tir. 18. aug. 2026 kl. 13:09 skrev Support <support@example.com\n>:',
  'Gmail de, its end wrapped': 'Am 21.08.2026 17:48 schrieb "Support" <support@example.com\n>:',
  'Gmail en, no space': 'On 2 July 2026 15:21, <\nsupport@example.com>wrote:',
  Zoho: '---- On Tue, 22 Dec 2026 14:17:36 +0530 Support <support@example.com> wrote ----',
  Polymail: 'On Thu, 31 Mar 2026 at 11:16 Support\n\n<\nmailto:Support <support@example.com>\n> wrote:',
  'Zoho, no colon': 'On Wed, 14 Nov 2026 08:14:43 -0200 Support <support@example.com> wrote',
  'Thunderbird hu': '2026.02.08. 7:31 keltezéssel, "Support" írta:',
  'without an address': 'On Wed, Sep 25, 2026, at 03:57 PM, support wrote:',
}
/** Attributions that are recognised only above a marked quote. */
const MARKED_ATTRIBUTIONS = [
  '2026/7/20 Support via Example <support@example.com>',
  'Support via Example <support@example.com> schrieb:',
  'Sent from Samsung MobileSupport <support@example.com> wrote:',
  '---- Support wrote ----',
]

describe('the new part of a reply', () => {
  for (const [client, line] of Object.entries(MORE_ATTRIBUTIONS)) {
    test(`ends before the attribution of ${client}`, () => {
      for (const quote of [QUOTED, UNMARKED])
        assert.equal(newPart(`${NEW}\n\n${line}\n\n${quote}\n`, 'reply'), NEW)
    })
  }

  test('ends before an attribution without time or verb only if the quote below is marked', () => {
    for (const line of MARKED_ATTRIBUTIONS) {
      assert.equal(newPart(`${NEW}\n\n${line}\n${QUOTED}`, 'reply'), NEW, line)
      assert.match(newPart(`${NEW}\n\n${line}\nMy own words.`, 'reply'), /own words/, line)
    }
    const bars = `${NEW}\n\n2026/7/20 Support <support@example.com>\n\n| old line\n| more old`
    assert.equal(newPart(bars, 'reply'), NEW)
  })

  test('ends before an attribution on the same line', () => {
    for (const [first, gap] of [
      ['reply', ' '],
      ['bla - bla', '--- '],
    ])
      assert.equal(
        newPart(`${first}${gap}On Wed, Apr 4, 2026 at 3:59 PM, bob@example.com wrote:\n> Hi`, 'reply'),
        first,
      )
    assert.equal(newPart(`${NEW}\n\n- On 2026-04-09 23:25, Support wrote:\n> old`, 'reply'), NEW)
  })

  test('ends before headers that are indented, incomplete, or mixed with others', () => {
    for (const block of [
      '      De : Support <s@example.com>\n À : Anna <a@example.net>\n Envoyé le : Mercredi 30 2026 10h30\n Objet : Re: x',
      'От: Support [s@example.com]\nОтправлено: ‎четверг‎, ‎26‎ ‎июня‎ ‎2026‎ г. ‎15‎:‎05\nКому: Anna [a@example.net]',
      'Message du : 12/12/2026 13:20\nDe : "Support" <s@example.com>\nA : a@example.net\nCopie à :\nSujet : x',
      ' ------------------------------\n\n*From:* Support [mailto:\n  s@example.com]\n*Sent:* Friday\n*To:* Anna\n*Subject:* x',
      '-----Original Message-----\nFrom: Support\nSent: Friday, 3:05 PM\nTo: Anna\nSubject: x',
      '*-------- Original Message --------*',
      '##- Please type your reply above this line -##',
      '--- Bitte antworten Sie oberhalb dieser Zeile ---',
    ])
      assert.equal(newPart(`${NEW}\n\n${block}\n\n${UNMARKED}`, 'reply'), NEW, block)
  })

  test('does not include the footer of a mailing list, or marked headers above a marked quote', () => {
    const footer = '_______________\nx-users mailing list\nx@lists.example.com\nhttp://lists.example.com/x'
    assert.equal(newPart(`${NEW}\n\n${footer}`, 'reply'), NEW)
    const hotmail =
      '> Subject: x\n> From: s@example.com\n> To: a@example.net\n> Date: Mon, 2 Apr 2026\n>\n> Hi'
    assert.equal(newPart(`${NEW}\n\n${hotmail}`, 'reply'), NEW)
  })

  for (const [client, line] of Object.entries(ATTRIBUTIONS)) {
    test(`ends before the attribution of ${client}, whether the quote is marked and the line wrapped or not`, () => {
      const wrapped = line.replace(' <', ' <\n').replace(' (s', '\n(s')
      for (const each of [line, wrapped]) {
        for (const quote of [QUOTED, UNMARKED]) {
          assert.equal(newPart(`${NEW}\n\n${each}\n\n${quote}\n`, 'reply'), NEW)
        }
      }
    })
  }

  test('ends before an ambiguous attribution if the quote is marked or empty', () => {
    for (const line of Object.values(AMBIGUOUS)) {
      assert.equal(newPart(`${NEW}\n\n${line}\n${QUOTED}\n`, 'reply'), NEW)
      assert.equal(newPart(`${NEW}\n\n${line}\n\n`, 'reply'), NEW)
    }
  })

  for (const [language, block] of Object.entries(BLOCKS)) {
    test(`ends before the headers of Outlook and others above a quote (${language})`, () => {
      const rule = '_'.repeat(32)
      assert.equal(newPart(`${NEW}\n\n${rule}\n${block}\n\n${UNMARKED}\n`, 'reply'), NEW)
    })
  }

  test('includes text between and below quotes', () => {
    const text = 'Hi,\n\nOn Fri Anna wrote:\n> Q1?\nYes.\n\n> Q2?\nNo.\n\n-- \nBob'
    assert.equal(newPart(text, 'reply'), 'Hi,\n\nYes.\n\nNo.')
  })

  test('continues after a line that only resembles an attribution', () => {
    const text = 'Hello,\n\nOn Monday your colleague wrote:\n\n"You will get 50 EUR."\n\nThis never came.'
    for (const kind of ['reply', 'first'] as const) assert.equal(newPart(text, kind), text)
  })

  test('continues after lines that only resemble headers', () => {
    const trip = 'Please book this:\n\nFrom: Berlin\nTo: London\nDate: 3 May 2027\n\nA window seat, please.'
    const plan = 'The trip:\n\nFrom: Berlin\nDate: 3 May 2027\nTo: London\n\nA window seat, please.'
    const move = 'Forward all mail:\n\nFrom: a@example.net\nTo: b@example.net\nDate: 3 May\n\nThank you.'
    const list =
      'Book this:\n\nFrom: Berlin\nDate: 3 May 2027 10:00\nTo: London\nSubject: a window seat\n\nAs soon as you can.'
    for (const text of [trip, plan, move, list]) assert.equal(newPart(text, 'reply'), text)
  })

  test('does not include a signature, but text between two lines of dashes', () => {
    assert.equal(newPart('Yes.\n\n-- \nAnna\n\nExample Ltd', 'reply'), 'Yes.')
    assert.equal(newPart('Yes.\n\n--\nAnna\nExample Ltd', 'reply'), 'Yes.')
    const list = 'Item A is broken\n--\nItem B is missing\n--\nPlease send both'
    assert.equal(newPart(list, 'reply'), list)
    const long = `See below.\n--\n${'A line of a text that goes on.\n'.repeat(20)}`
    assert.equal(newPart(long, 'reply'), long.trim())
  })

  test('includes text at the usual places of quotes, signatures and attributions', () => {
    const above = '> 5 of them, please.\n\nAs I said:'
    const reported = 'Hello,\n\nOn 3 March bob@example.org wrote:\n\nCancel it.'
    const reportedByName = 'He (bob@example.org) wrote on 20.11.2026 at 14:30:\n\nCancel it.'
    const within = `See my answers below, in red.\n\n${BLOCKS.en}\n\nWhen?\nOn Monday.`
    for (const text of [above, reported, reportedByName, within]) assert.equal(newPart(text, 'reply'), text)
    const quoted = `${above}\n\n${ATTRIBUTIONS['Gmail en']}\n${QUOTED}`
    assert.equal(newPart(quoted, 'reply'), above)
    assert.equal(newPart('Yes.\n\n--\nAnna\nPS: cancel 4711.', 'reply'), 'Yes.\n\nPS: cancel 4711.')
  })

  test('does not include the signature of a device, but a sentence that begins like one', () => {
    for (const line of DEVICES.split('|')) {
      assert.equal(newPart(`Yes.\n\n${line}`, 'reply'), 'Yes.', line)
      const above = `Yes.\n\n${line}\n${'_'.repeat(32)}\n${BLOCKS.en}\n\nold`
      assert.equal(newPart(above, 'reply'), 'Yes.', line)
    }
    for (const text of [
      'Please call me.\nSent from my office address: 12 Main Street',
      'Buongiorno\n\nInviato da Anna il pacco non arriva',
      'Hello\n\nSent from my desk, is much easier than my mobile phone.',
      'Hello\n\nSent from my phone, did you get it?',
    ]) {
      assert.equal(newPart(text, 'reply'), text)
    }
  })

  test('includes lines that begin with > without an attribution', () => {
    const text = 'It says:\n> npm start\nand then\n> 5 of them fail'
    assert.equal(newPart(text, 'reply'), text)
  })

  test('is the whole text if it would otherwise be empty', () => {
    assert.equal(newPart('> only\n> this', 'reply'), '> only\n> this')
  })
})

describe('the text of a first mail', () => {
  test('is complete except for the signature', () => {
    const log = 'My log says:\n> error 1\n> error 2\nWhat now?'
    const block = `Can you see to this?\n\n${BLOCKS.en}\n\nSend me five widgets.`
    const dashes = 'Item A\n--\nItem B'
    const forwardedByHand =
      'Please help him.\n\nHere is what the customer (bob@example.org) wrote on 20.11.2026 at 14:30:\n> it broke'
    const between = `${ATTRIBUTIONS['Gmail en']}\n> it broke\n\nWhat do we tell him?`
    const quote = `${NEW}\n\n${ATTRIBUTIONS['Gmail en']}\n${QUOTED}`
    for (const text of [log, block, dashes, forwardedByHand, between, quote])
      assert.equal(newPart(text, 'first'), text)
    assert.equal(newPart('Where is it?\n\n-- \nAnna', 'first'), 'Where is it?')
  })
})

test('a sentence with an address and a year is not an attribution', () => {
  const text = 'Hello,\n\nPlease give these people access to bob@example.net (from 2026):\n\nAnna\nCarl'
  for (const kind of ['first', 'reply'] as const) assert.equal(newPart(text, kind), text)
})

describe('a forwarded mail', () => {
  const content =
    'From: Bob <bob@example.org>\nDate: Fri, Nov 20, 2026 at 12:00 PM\nSubject: Order\nTo: Anna <a@example.net>\n\n\nSend me five widgets.\n\n-- \nBob\n\n> as I said'

  test('stays in the text after the mark of any client, whatever the kind of the mail', () => {
    for (const mark of FORWARDS.split('|')) {
      for (const kind of ['first', 'reply', 'forward'] as const) {
        const text = `Can you see to this?\n\n${mark}\n${content}`
        assert.equal(newPart(text, kind), text)
      }
      assert.equal(newPart(`Thanks.\n\n${BLOCKS.en}\n\n${mark}\n${content}`, 'reply'), 'Thanks.')
    }
  })

  test('stays in the text without a mark, as in Outlook, if the subject is of a forward', () => {
    const text = `Can you see to this?\n\n________________________________\n${content}`
    assert.equal(newPart(text, 'forward'), text)
  })
})

describe('the new part of any text', () => {
  const others = '|-- |--|-----Original Message-----|_______|Hello|a: b|From: x'.split('|')
  const known = [ATTRIBUTIONS, BLOCKS, AMBIGUOUS].flatMap((each) => Object.values(each))
  const marks = [DEVICES, FORWARDS].flatMap((each) => each.split('|'))
  const line = fc.oneof(fc.constantFrom(...known, ...marks, ...others, QUOTED), fc.string({ maxLength: 30 }))

  test('has only lines of the text, in order', () => {
    fc.assert(
      fc.property(fc.array(line), fc.constantFrom('reply', 'first', 'forward'), (lines, kind) => {
        const text = lines.join('\n')
        const rest = text.split('\n').map((each) => each.trim())
        for (const kept of newPart(text, kind).split('\n')) {
          const index = rest.findIndex(
            (each) => each.startsWith(kept.trim()) && (kept.trim() !== '' || each === ''),
          )
          assert.notEqual(index, -1, `${JSON.stringify(kept)} of ${JSON.stringify(text)}`)
          rest.splice(0, index + 1)
        }
      }),
    )
  })

  test('is found in proportional time', async () => {
    const lines =
      'a:|On 1 a@b 2026 10:00 wrote:|On 1 a@b 2026 10:00 wrote|On x wrote:\n\n\n|From: a@b|Date: 1\n|To: x|'
    const more = '|Which?|Which? a|>> a|[Anna] x|Anna|1. a|- On 1 2026 10:00 wrote:\n>|| a'
    const all = `${lines}> |-- |--|-----Original x|Sent from ${more}`.split('|').map((each) => `${each}\n`)
    for (const piece of [...all, '-#', '_', ' ', '? ', 'Hi ', 'Sent from my ', 'On ']) {
      const text = (size: number) => piece.repeat(size / piece.length)
      for (const kind of ['reply', 'first'] as const) {
        await inProportion(piece, 128_000, (size) => newPart(text(size), kind))
      }
      await inProportion(piece, 64_000, (size) =>
        newPart(`Yes.\n\n${BLOCKS.en}\n\n${text(size)}`, 'reply', ANNA),
      )
    }
  })
})

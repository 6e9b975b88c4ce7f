const LINES = 24

/**
 * The `n`th mail of a backlog, about 3 KB long: for an even `n` plain text; for an odd one text and
 * HTML, as mail clients write it.
 */
export function sampleMail(n: number): Buffer {
  const head = [
    'Return-Path: <anna@example.net>',
    'Received: from mail.example.net (mail.example.net [192.0.2.7]) by mx.example.com with ESMTPS id 4Fq2',
    ' for <support@example.com>; Sat, 21 Nov 2026 11:05:33 +0100',
    `From: Anna Example <anna${n % 100}@example.net>`,
    'To: Support <support@example.com>',
    `Subject: =?utf-8?q?Bestellung_${n}_f=C3=BCr_Anna?=`,
    'Date: Sat, 21 Nov 2026 11:05:31 +0100',
    `Message-ID: <bench.${n}@example.net>`,
    'User-Agent: Mozilla Thunderbird',
    'MIME-Version: 1.0',
  ]
  return Buffer.from(`${[...head, ...(n % 2 === 0 ? plain(n) : alternative(n))].join('\r\n')}\r\n`)
}

function plain(n: number): string[] {
  const line = 'The parcel was to come on Monday, and the tracking page has not changed since then.'
  return [
    'Content-Type: text/plain; charset=utf-8; format=flowed',
    'Content-Transfer-Encoding: 8bit',
    '',
    `Where is order ${n}?`,
    ...Array.from({ length: LINES }, () => line),
  ]
}

function alternative(n: number): string[] {
  const line = 'The parcel should have come on Monday, says the page =E2=80=93 it did not.'
  const boundary = `=_${n}_bench`
  const part = (type: string, lines: string[]) => [
    `--${boundary}`,
    `Content-Type: ${type}; charset=utf-8`,
    'Content-Transfer-Encoding: quoted-printable',
    '',
    ...lines,
  ]
  const lines = Array.from({ length: LINES / 2 }, () => line)
  return [
    `Content-Type: multipart/alternative; boundary="${boundary}"`,
    '',
    ...part('text/plain', [`Where is order ${n}?`, ...lines]),
    ...part('text/html', ['<html><body>', ...lines.map((text) => `<p>${text}</p>`), '</body></html>']),
    `--${boundary}--`,
  ]
}

import { generateKeyPairSync } from 'node:crypto'
import { type DNSResolver, dkimSign } from 'mailauth'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import type { Identity } from '../../../transports/email/proof/claim.ts'
import { createIdentityCheck } from '../../../transports/email/proof/verify.ts'

const pair = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const { privateKey } = pair
const KEY = `v=DKIM1; k=rsa; p=${pair.publicKey.toString('base64')}`

/**
 * example.net signs, and asks receivers to reject unsigned mail. evil.example signs anything;
 * loose.example has no policy.
 */
export const RECORDS: Readonly<Record<string, string>> = {
  'TXT s1._domainkey.example.net': KEY,
  'TXT _dmarc.example.net': 'v=DMARC1; p=reject',
  'TXT s1._domainkey.evil.example': KEY,
  'TXT _dmarc.evil.example': 'v=DMARC1; p=none',
  'TXT s1._domainkey.loose.example': KEY,
}

/** As `RECORDS`, with the servers of example.net and evil.example. */
export const SPF = {
  ...RECORDS,
  'TXT example.net': 'v=spf1 ip4:203.0.113.0/24 -all',
  'TXT evil.example': 'v=spf1 ip4:203.0.113.0/24 -all',
}
/** The headers of the receiving server for a mail from the server of example.net. */
export const HOP =
  'Return-Path: <anna@example.net>\r\nReceived: from out.example.net (out.example.net [203.0.113.5])\r\n by mx.example.com with ESMTP id 1; Sat, 21 Nov 2026 10:00:00 +0000\r\n'

/** Puts lines in front of a mail. */
export function onTop(lines: string, raw: Buffer): Buffer {
  return Buffer.concat([Buffer.from(lines), raw])
}

/** DNS with only these records. `failing` returns the error code of a look-up that fails. */
export function dnsOf(
  records: Readonly<Record<string, string>> = RECORDS,
  failing: (domain: string, type: string) => string | undefined = () => undefined,
): DNSResolver {
  return async (domain, type) => {
    const name = domain.toLowerCase()
    const record = records[`${type} ${name}`]
    const code = failing(name, type) ?? (record === undefined ? 'ENOTFOUND' : undefined)
    if (code) throw Object.assign(new Error(`${type} ${domain}: ${code}`), { code })
    return [[record ?? '']]
  }
}

/** Adds a DKIM signature of `domain` in front of a mail. */
export async function signed(
  raw: string | Buffer,
  domain = 'example.net',
  more: { maxBodyLength?: number; headerList?: string } = {},
): Promise<Buffer> {
  const { headerList, ...limits } = more
  const key = { signingDomain: domain, selector: 's1', privateKey, ...limits }
  const { signatures } = await dkimSign(Buffer.from(raw), {
    ...key,
    signatureData: [key],
    ...(headerList ? { headerList } : {}),
  })
  return Buffer.concat([Buffer.from(signatures), Buffer.from(raw)])
}

/** The identity of a mail, and its displayed sender. */
export async function judge(
  raw: string | Buffer,
  options: { trust?: string; resolver?: DNSResolver } = {},
): Promise<Identity & { from: string }> {
  const verify = createIdentityCheck(
    { authentication: 'prefer', trust: options.trust },
    options.resolver ?? dnsOf(),
  )
  const source = Buffer.from(raw)
  const mail = await parseMail(source)
  const from = mail.from.map(({ address }) => address).join(' ')
  const { identity } = await verify(mail, source)
  return { ...identity, from }
}

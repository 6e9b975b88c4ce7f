import { createHmac, hash } from 'node:crypto'

export type AwsKey = {
  id: string
  secret: string
  session?: string | undefined
  region: string
  service: string
}

/** A request to an AWS API. `headers` in lower case, without `host`. */
export type AwsRequest = { method: string; url: URL; headers: Record<string, string>; body: string }

/**
 * The headers that sign a request
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
 * `at`: Unix ms. The URL must have no query, and a path that needs no escaping.
 */
export function signAws({ method, url, headers, body }: AwsRequest, key: AwsKey, at: number) {
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const signed: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-date': time,
    ...(key.session === undefined ? {} : { 'x-amz-security-token': key.session }),
  }
  const names = Object.keys(signed).sort()
  const lines = names.map((name) => `${name}:${signed[name]?.trim()}\n`).join('')
  const canonical = [method, url.pathname, '', lines, names.join(';'), hash('sha256', body)].join('\n')
  const scope = `${day}/${key.region}/${key.service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical)].join('\n')
  const steps = [day, key.region, key.service, 'aws4_request']
  let signingKey: Buffer = Buffer.from(`AWS4${key.secret}`)
  for (const step of steps) signingKey = mac(signingKey, step)
  const signature = mac(signingKey, text).toString('hex')
  const { host: _, ...sent } = signed
  const credential = `Credential=${key.id}/${scope}`
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

function mac(secret: Buffer, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest()
}

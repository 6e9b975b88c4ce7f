import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'

const KNOWN_FORMS =
  'redis://, rediss://, a comma list of these (Cluster), or redis-sentinel:// or rediss-sentinel://[:password@]host:port,host:port/master[/db]'
/** Query parameters with TLS files (PEM). */
const FILES = ['ca', 'cert', 'key'] as const
/** Query parameters with the login of the Sentinels. */
const LOGIN = ['sentinel-username', 'sentinel-password'] as const

/**
 * Parses a URL into options of ioredis, with `nodes` for a cluster, and an address without
 * credentials. Throws `config_invalid` for an unknown form; `where` names the setting.
 */
export function parseUrl(url: string, where = 'REDIS_URL') {
  const [, scheme = ''] = /^(rediss?-sentinel:\/\/)/.exec(url) ?? []
  const isSentinel = scheme !== ''
  const urls = url.split(',').map((part, index) => {
    const text = index > 0 ? `${scheme}${part.trim()}` : part.trim()
    if (!/^rediss?(-sentinel)?:\/\//.test(text) || !URL.canParse(text)) throw badUrl(url, where)
    return new URL(text)
  })
  const nodes = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (isSentinel ? 26_379 : 6379)),
  }))
  const [first = new URL(url)] = urls
  const isTls = first.protocol.startsWith('rediss')
  const path = urls.at(-1)?.pathname.split('/').slice(1) ?? []
  const master = isSentinel ? path.shift() : undefined
  if (isSentinel && !master) throw badUrl(url, where)
  const isCluster = nodes.length > 1 && !isSentinel
  const query = new Map(urls.flatMap(({ searchParams }) => [...searchParams]))
  // The part of a password after an unescaped / or ? would be shown in logs.
  if ([...path, ...query.keys()].some((part) => part.includes('@'))) throw badUrl(url, where)
  const db = databaseOf(path, isCluster, where)
  for (const parameter of query.keys()) requireKnownParameter(parameter, where)
  const [sentinelUsername, sentinelPassword] = LOGIN.map((parameter) => query.get(parameter))
  const host = nodes[0]?.host ?? ''
  // TLS cannot verify a server name for an IP address, or for a server that a Sentinel will name
  // later.
  const tls = { ...filesOf(query, where), ...(!isSentinel && !isIP(host) && { servername: host }) }
  const options = {
    ...(first.username && { username: decoded(first.username, 'user name', where) }),
    ...(first.password && { password: decoded(first.password, 'password', where) }),
    ...(isTls && { tls }),
    ...(db > 0 && { db }),
    ...(master && isTls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
    ...(master && defined({ sentinelUsername, sentinelPassword })),
    // Without `failoverDetector`, the client stays connected to a demoted master until that master
    // disconnects it.
    ...(master ? { name: master, sentinels: nodes, failoverDetector: true } : !isCluster && nodes[0]),
  }
  for (const each of urls) each.username = each.password = each.search = ''
  return { address: urls.join(','), options, nodes: isCluster ? nodes : undefined }
}

/** The database of the path, 0 without one. Throws `config_invalid`. */
function databaseOf(path: readonly string[], isCluster: boolean, where: string): number {
  const [text = '', ...others] = path
  const db = Number(text)
  if (!/^\d{0,9}$/.test(text) || others.some((part) => part !== ''))
    throw invalid(`${where}: the database is a number, and "${path.join('/')}" is not one`)
  if (db > 0 && isCluster)
    throw invalid(`${where}: a Redis Cluster has only database 0, not ${db}; remove "/${text}"`)
  return db
}

function requireKnownParameter(parameter: string, where: string): void {
  const known = [...FILES, ...LOGIN]
  if (known.some((one) => one === parameter)) return
  throw invalid(`${where} has an unknown parameter "${parameter}"; known are ${known.join(', ')}`)
}

function decoded(text: string, what: string, where: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid(`${where}: the ${what} contains a % that begins no escape; write % as %25`)
  }
}

function filesOf(query: Map<string, string>, where: string) {
  const files = FILES.flatMap((name) => {
    const path = query.get(name)
    if (path === undefined) return []
    try {
      return [[name, readFileSync(path, 'utf8')]]
    } catch (error) {
      const details = `${where}: ${name}: ${reasonOf(error)}`
      throw new TriviumError('config_invalid', { details }, { cause: error })
    }
  })
  return Object.fromEntries(files)
}

function badUrl(text: string, where: string): TriviumError {
  const shown = text.replace(/^(\w[\w-]*:)?.*@/, '$1…@').replace(/\?.*/, '?…')
  return invalid(`${where} must be ${KNOWN_FORMS}; this is not: "${shown}"`)
}

function invalid(details: string): TriviumError {
  return new TriviumError('config_invalid', { details })
}

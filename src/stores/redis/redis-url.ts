import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'

const FORMS =
  'redis://, rediss://, a comma list of these (Cluster), or redis-sentinel:// or rediss-sentinel://[:password@]host:port,host:port/master[/db]'
/** Query parameters: TLS files (PEM), and the login of the Sentinels. */
const FILES = ['ca', 'cert', 'key'] as const
const LOGIN = ['sentinel-username', 'sentinel-password'] as const

/**
 * Parses a URL into options of ioredis, with `nodes` for a cluster, and an address without credentials. Throws `config_invalid` for
 * an unknown form; `where` names the setting.
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
  const [{ username, password, protocol } = new URL(url)] = urls
  const path = urls.at(-1)?.pathname.split('/').slice(1) ?? []
  const name = isSentinel ? path.shift() : undefined
  if (isSentinel && !name) throw badUrl(url, where)
  const isCluster = nodes.length > 1 && !isSentinel
  const db = Number(path[0])
  const query = new Map(urls.flatMap(({ searchParams }) => [...searchParams]))
  for (const name of query.keys())
    if (![...FILES, ...LOGIN].some((known) => known === name)) throw badUrl(url, where)
  const [sentinelUsername, sentinelPassword] = LOGIN.map((name) => query.get(name))
  const host = nodes[0]?.host ?? ''
  // TLS cannot verify a server name for an IP address, or for a server that a Sentinel will name later.
  const tls = { ...filesOf(query, where), ...(!isSentinel && !isIP(host) && { servername: host }) }
  const options = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol?.startsWith('rediss') && { tls }),
    ...(db > 0 && !isCluster && { db }),
    ...(name && protocol === 'rediss-sentinel:' && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
    ...(name && defined({ sentinelUsername, sentinelPassword })),
    // Otherwise it stays with a demoted master until that one closes the connection.
    ...(name ? { name, sentinels: nodes, failoverDetector: true } : !isCluster && nodes[0]),
  }
  for (const each of urls) each.username = each.password = each.search = ''
  return { address: urls.join(','), options, nodes: isCluster ? nodes : undefined }
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
  return new TriviumError('config_invalid', { details: `${where} is ${FORMS}; this is not: "${shown}"` })
}

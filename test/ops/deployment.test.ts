import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { validate } from 'dockerfile-utils'
import { parse, parseAllDocuments } from 'yaml'
import { DAEMON_VARIABLES } from '../../src/config/sections.ts'
import { PARTS } from '../../src/core/parts.ts'
import { commandProblem } from '../docs/command-lines.ts'
import { bashProblem } from '../docs/shell.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { kubernetesProblem } from '../fixtures/kubernetes-types.ts'

const read = (file: string) => readFileSync(join('ops', file), 'utf8')
const objectsOf = (file: string) => parseAllDocuments(read(file)).map((document) => document.toJS())

/** Keys of a service in the Compose specification that the file uses. */
const COMPOSE_KEYS =
  'image hostname build restart stop_grace_period logging depends_on environment ports volumes command healthcheck'.split(
    ' ',
  )

describe('the files in ops/', { timeout: 300_000 }, () => {
  test('name only variables that the daemon reads', () => {
    const known = new Set([...Object.keys(DAEMON_VARIABLES), 'TRIVIUM_CONFIG'])
    for (const file of globSync('*{.yaml,file,.service}', { cwd: 'ops' })) {
      for (const [name] of read(file).matchAll(/\bTRIVIUM_[A-Z_]+\b/g))
        assert.ok(known.has(name), `${file}: ${name}`)
    }
  })

  test('have valid Kubernetes objects, whose probes and mounts exist in the same pod', (t) => {
    const dir = temporaryDir(t)
    const files = ['', '-volume', '-ingress', '-control', '-monitor', '-restore', '-backup', '-redis'].map(
      (part) => `kubernetes${part}.yaml`,
    )
    const all = files.flatMap(objectsOf)
    // This kind is defined by the Prometheus operator.
    const objects = all.filter(({ kind }) => kind !== 'ServiceMonitor')
    assert.deepEqual([all.length, objects.length], [19, 18])
    assert.doesNotMatch(JSON.stringify(objects), /"sleep":\{/, 'needs Kubernetes 1.30')
    assert.equal(kubernetesProblem(all, dir), undefined)
    const policy = objects.find(({ kind }) => kind === 'NetworkPolicy').spec
    assert.deepEqual(policy.podSelector, objects[0].spec.selector)
    const opened = policy.ingress.map((rule: { ports: { port: string }[]; from?: object[] }) => [
      rule.ports[0]?.port,
      rule.from?.length ?? 'everyone',
    ])
    assert.deepEqual(opened, [
      ['public', 'everyone'],
      ['control', 2],
    ])
    const redis = objects.findLast(({ kind }) => kind === 'NetworkPolicy').spec
    assert.deepEqual(
      [redis.podSelector.matchLabels, redis.ingress],
      [{ app: 'redis' }, [{ from: [{ podSelector: {} }], ports: [{ port: 'redis' }] }]],
    )
    const { containers, volumes } = objects[0].spec.template.spec
    const [{ ports, volumeMounts, ...pod }] = containers
    const names = (list: { name: string }[]) => list.map(({ name }) => name).sort()
    assert.deepEqual(names(volumeMounts), names(volumes))
    for (const probe of [pod.startupProbe, pod.readinessProbe, pod.livenessProbe]) {
      assert.ok(names(ports).includes(probe.httpGet.port))
    }
  })

  test('can mount the archives of the nightly backup, and name the login of a registry, as comments show', (t) => {
    const uncommented = (file: string) =>
      parseAllDocuments(read(file).replaceAll(/^( *)# (- \{|imagePull)/gm, '$1$2')).map((one) => one.toJS())
    const [pod] = uncommented('kubernetes-restore.yaml')
    const backup = uncommented('kubernetes-backup.yaml')
    assert.equal(kubernetesProblem([pod, ...backup], temporaryDir(t)), undefined)
    const mount = pod.spec.containers[0].volumeMounts.at(-1)
    const volume = pod.spec.volumes.at(-1)
    assert.deepEqual([mount.name, mount.mountPath], [volume.name, '/backups'])
    const claims = backup
      .filter(({ kind }) => kind === 'PersistentVolumeClaim')
      .map(({ metadata }) => metadata.name)
    assert.deepEqual(claims, [volume.persistentVolumeClaim.claimName])
    const account = backup.find(({ kind }) => kind === 'ServiceAccount')
    assert.deepEqual(account.imagePullSecrets, [{ name: 'NAME' }])
  })

  test('run one daemon with a volume as they run two with Redis', () => {
    const specOf = (file: string) => objectsOf(file).find(({ kind }) => kind === 'Deployment').spec
    const [two, one] = ['kubernetes.yaml', 'kubernetes-volume.yaml'].map(specOf)
    assert.deepEqual([one.replicas, one.strategy], [1, { type: 'Recreate' }])
    const partsOf = (spec: typeof two) => {
      const { containers, volumes, topologySpreadConstraints: _spread, ...pod } = spec.template.spec
      const { env, ...container } = containers[0]
      const withoutData = volumes.filter(({ name }: { name: string }) => name !== 'data')
      return [pod, container, env.filter(({ name }: { name: string }) => name !== 'REDIS_URL'), withoutData]
    }
    assert.deepEqual(partsOf(one), partsOf(two))
    assert.doesNotMatch(JSON.stringify(one), /REDIS_URL/)
    const claim = objectsOf('kubernetes-volume.yaml').find(({ kind }) => kind === 'PersistentVolumeClaim')
    const data = one.template.spec.volumes.find(({ name }: { name: string }) => name === 'data')
    assert.deepEqual(data.persistentVolumeClaim, { claimName: claim.metadata.name })
  })

  test('back up every night with commands that exist, as an account that may run them', async () => {
    const objects = objectsOf('kubernetes-backup.yaml')
    const named = (wanted: string) => objects.find(({ kind }) => kind === wanted)
    const { spec } = named('CronJob').spec.jobTemplate.spec.template
    for (const { args } of [...spec.initContainers, ...spec.containers]) {
      assert.equal(bashProblem(args[0]), undefined)
      assert.equal(await commandProblem(args[0]), undefined)
    }
    // A Deployment and a StatefulSet have pods with this label; the account need not know which of
    // them there is.
    const { labels } = objectsOf('kubernetes.yaml')[0].spec.template.metadata
    assert.match(spec.initContainers[0].args[0], new RegExp(`--selector=app=${labels.app} `))
    const allowed = named('Role').rules.flatMap(({ resources }: { resources: string[] }) => resources)
    assert.deepEqual(allowed, ['pods', 'pods/exec'])
    const { name } = named('ServiceAccount').metadata
    assert.deepEqual([spec.serviceAccountName, named('RoleBinding').subjects[0].name], [name, name])
    assert.equal(named('RoleBinding').roleRef.name, named('Role').metadata.name)
    assert.equal(
      spec.volumes[0].persistentVolumeClaim.claimName,
      named('PersistentVolumeClaim').metadata.name,
    )
  })

  test('have a route of the Gateway API to the public port of the Service', () => {
    const { apiVersion, kind, metadata, spec } = parse(read('kubernetes-httproute.yaml'))
    assert.deepEqual([apiVersion, kind], ['gateway.networking.k8s.io/v1', 'HTTPRoute'])
    const service = objectsOf('kubernetes.yaml').find((object) => object.kind === 'Service')
    const [{ port }] = service.spec.ports
    // The API drops keys that it does not know.
    assert.deepEqual(spec, {
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: [objectsOf('kubernetes-ingress.yaml')[0].spec.rules[0].host],
      rules: [{ backendRefs: [{ name: service.metadata.name, port }] }],
    })
    assert.equal(metadata.name, 'trivium')
  })

  test('let the Prometheus operator find the port of the control listener', () => {
    const monitor = parse(read('kubernetes-monitor.yaml'))
    const { apiVersion, kind, spec, ...rest } = monitor
    assert.deepEqual(
      [apiVersion, kind, Object.keys(rest)],
      ['monitoring.coreos.com/v1', 'ServiceMonitor', ['metadata']],
    )
    // The operator ignores keys that it does not know.
    assert.deepEqual(Object.keys(spec).sort(), ['endpoints', 'jobLabel', 'selector'])
    const services = objectsOf('kubernetes-control.yaml')
    const service = services.find(({ kind }) => kind === 'Service')
    const { labels } = service.metadata
    for (const [name, value] of Object.entries(spec.selector.matchLabels)) assert.equal(labels[name], value)
    assert.ok(spec.jobLabel in labels)
    for (const endpoint of spec.endpoints) {
      assert.deepEqual(Object.keys(endpoint).sort(), ['interval', 'path', 'port'])
      assert.ok(service.spec.ports.some(({ name }: { name: string }) => name === endpoint.port))
      assert.match(endpoint.interval, /^\d+(ms|s|m|h)$/)
      assert.equal(endpoint.path, '/metrics')
    }
  })

  test('have a compose file with existing services, volumes and images, which waits for a healthy Redis', () => {
    const { services, volumes, ...rest } = parse(read('compose.yaml'))
    assert.deepEqual([Object.keys(rest), Object.keys(services)], [[], ['trivium', 'redis']])
    for (const [name, service] of Object.entries<Record<string, unknown>>(services)) {
      for (const key of Object.keys(service)) assert.ok(COMPOSE_KEYS.includes(key), `${name}: ${key}`)
      assert.match(String(service.image), /^[a-z]+:\d/, name)
    }
    const { trivium, redis } = services
    const mounted = [...trivium.volumes, ...redis.volumes].map((one: string) => one.split(':')[0] ?? '')
    const named = mounted.filter((one) => !one.startsWith('.'))
    assert.deepEqual(named.sort(), Object.keys(volumes).sort())
    for (const [name, { condition }] of Object.entries<{ condition: string }>(trivium.depends_on)) {
      assert.equal(condition, 'service_healthy')
      assert.deepEqual(services[name].healthcheck.test.slice(0, 2), ['CMD', 'redis-cli'])
    }
    assert.equal(new URL(trivium.environment.REDIS_URL).hostname, 'redis')
    // `trivium restore` in the image must read the snapshots of this Redis.
    const [, major] = /^redis:(\d+)/.exec(redis.image) ?? []
    assert.match(read('Dockerfile'), new RegExp(`^COPY --from=redis:${major}\\.\\d+\\.\\d+-`, 'm'))
  })

  test('mount and copy only existing files', () => {
    const { services } = parse(read('compose.yaml'))
    const { build, volumes } = services.trivium
    assert.ok(existsSync(resolve('ops', build.context, build.dockerfile)))
    const binds = volumes.filter((one: string) => one.startsWith('.'))
    for (const bind of binds) assert.ok(existsSync(resolve('ops', bind.split(':')[0])), bind)
    for (const [file] of read('Dockerfile').matchAll(/\bops\/[\w.-]+/g)) assert.ok(existsSync(file), file)
  })

  test('are a chart that names only values that it has, of the same version as the package', () => {
    const values = parse(read('helm/values.yaml'))
    for (const file of globSync('ops/helm/templates/*.yaml')) {
      for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/\.Values\.([\w.]+)/g)) {
        const found = path.split('.').reduce((value, key) => Object(value)[key], values)
        assert.notEqual(found, undefined, `${file}: ${path}`)
      }
    }
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const chart = parse(read('helm/Chart.yaml'))
    assert.deepEqual([chart.version, chart.appVersion], [version, version])
    const files = ['', '-volume', '-restore', '-backup'].map((part) => `kubernetes${part}.yaml`)
    for (const file of [...files, 'compose.yaml'])
      assert.match(read(file), new RegExp(`trivium:${version}$`, 'm'))
  })

  test('have an image with a pinned base, the packages of the lock file, and tini as process 1', () => {
    const text = read('Dockerfile')
    assert.deepEqual(validate(text), [])
    assert.match(text, /^ARG NODE=node:\d+\.\d+\.\d+-/m)
    assert.match(text, /^ENTRYPOINT \["tini", "--"\]$/m)
    assert.doesNotMatch(text, /npm install/)
    for (const [, words = ''] of text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)) {
      for (const file of words.split(' ')) assert.ok(file === '.' || existsSync(file), file)
    }
  })

  test('have an image with all optional parts, and without packages for development', (t) => {
    const dir = temporaryDir(t)
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(file, join(dir, file))
    const { status, stderr } = spawnSync(process.execPath, [resolve('ops/with-parts.mjs')], { cwd: dir })
    assert.equal(status, 0, String(stderr))
    const { dependencies } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
    const { packages } = JSON.parse(readFileSync(join(dir, 'package-lock.json'), 'utf8'))
    assert.deepEqual(packages[''].dependencies, dependencies)
    const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
    for (const name of Object.values(PARTS).flatMap((part): readonly string[] => part.packages)) {
      assert.equal(dependencies[name], devDependencies[name], name)
      assert.equal(packages[`node_modules/${name}`].version, dependencies[name])
    }
    // Also packages that the packages of the parts depend on.
    assert.ok(packages['node_modules/luxon'] && packages['node_modules/@slack/socket-mode'])
    assert.equal(packages['node_modules/typescript'], undefined)
  })

  test('have a unit that systemd accepts', (t) => {
    const { error, status, stderr } = spawnSync('systemd-analyze', ['verify', 'ops/trivium.service'])
    if (error) return t.skip('no systemd-analyze here')
    assert.deepEqual([status, String(stderr)], [0, ''])
  })
})

test('the package has the committed skills, and no others', (t) => {
  const { status, stdout } = spawnSync('git', ['ls-tree', '--name-only', 'HEAD', 'skills/'])
  if (status !== 0) return t.skip('no clone')
  const { include } = JSON.parse(readFileSync('tsconfig.build.json', 'utf8'))
  const shipped = include.filter((path: string) => path.startsWith('skills'))
  assert.deepEqual(shipped.sort(), String(stdout).trim().split('\n').sort())
})

// The Helm chart and the commands of the docs for Kubernetes, with the real helm and kubectl; a
// cluster is not needed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { kubernetesTools } from '../../ops/kubernetes-tools.ts'
import { blocksOf, pages, placeOf, root } from '../docs/blocks.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { type KubernetesObject, kubernetesProblem } from '../fixtures/kubernetes-types.ts'

const tools = kubernetesTools()
const skip = tools === undefined && 'helm and kubectl are not available here'

/** What the values of the chart switch on, each with the kinds that it adds. */
const VARIANTS: readonly { name: string; values: readonly string[]; adds: readonly string[] }[] = [
  { name: 'its defaults', values: [], adds: ['PodDisruptionBudget'] },
  {
    name: 'the embedded store in a volume',
    values: ['--set', 'persistence.enabled=true,persistence.storageClass=fast,replicas=1'],
    adds: ['PersistentVolumeClaim'],
  },
  { name: 'all daemons stopped', values: ['--set', 'replicas=0'], adds: [] },
  {
    name: 'an Ingress with TLS and annotations',
    values: [
      '--set',
      'ingress.enabled=true,ingress.tlsSecret=hooks-tls,ingress.annotations.cert-manager\\.io/issuer=ca',
    ],
    adds: ['PodDisruptionBudget', 'Ingress'],
  },
  {
    name: 'the control listener, and a ServiceMonitor',
    values: ['--set', 'serviceMonitor.enabled=true'],
    adds: ['PodDisruptionBudget', 'Service', 'NetworkPolicy', 'ServiceMonitor'],
  },
  {
    name: 'skills, files and variables',
    values: [
      ...['--set-file', 'routes=routes.yaml', '--set-file', 'skills.shout=project/skills/hello/index.ts'],
      ...['--set', 'env.TRIVIUM_LOG_LEVEL=debug,image.repository=example.com/trivium,image.tag=1.2.3'],
    ],
    adds: ['PodDisruptionBudget'],
  },
]

function render(...args: string[]): KubernetesObject[] {
  const { status, stdout, stderr } = spawnSync(tools?.helm ?? '', ['template', 'bot', 'ops/helm', ...args], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  return parseAllDocuments(stdout).map((document) => document.toJS())
}

describe('the Helm chart', { skip, timeout: 300_000 }, () => {
  test('has no fault that helm finds', () => {
    const { status, stdout, stderr } = spawnSync(tools?.helm ?? '', ['lint', '--strict', 'ops/helm'], {
      cwd: root,
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${stdout}${stderr}`)
  })

  test('asks cert-manager for the certificate of its Ingress, and lets ingress-nginx pass large mails', () => {
    const values = 'ingress.enabled=true,ingress.tlsSecret=trivium-tls,ingress.issuer=letsencrypt'
    const ingress = render('--set', values).find(({ kind }) => kind === 'Ingress')
    const [file] = parseAllDocuments(readFileSync(join(root, 'ops/kubernetes-ingress.yaml'), 'utf8'))
    assert.deepEqual(Object(ingress?.metadata).annotations, file?.toJS().metadata.annotations)
  })

  test('renders valid Kubernetes objects with each of its values', (t) => {
    const rendered = VARIANTS.map(({ name, values, adds }) => {
      const objects = render(...values)
      const kinds = objects.map(({ kind }) => kind).sort()
      assert.deepEqual(kinds, ['ConfigMap', 'Deployment', 'Service', ...adds].sort(), name)
      return objects
    })
    assert.equal(kubernetesProblem(rendered.flat(), temporaryDir(t)), undefined)
    const named = rendered.flat().filter(({ metadata }) => !metadata.name.startsWith('bot'))
    assert.deepEqual(named, [], 'two releases in one namespace would collide')
  })

  test('mounts what the pod has, and gives it the files, variables and image of the values', () => {
    for (const { name, values } of VARIANTS) {
      const { container, volumes } = podOf(render(...values))
      const names = (list: readonly { name: string }[]) => list.map((each) => each.name).sort()
      assert.deepEqual(names(container.volumeMounts), names(volumes), name)
    }
    const objects = render(...(VARIANTS.at(-1)?.values ?? []))
    const { container, volumes } = podOf(objects)
    assert.equal(container.image, 'example.com/trivium:1.2.3')
    assert.ok(container.env.some(({ name, value }) => name === 'TRIVIUM_LOG_LEVEL' && value === 'debug'))
    const { data } = Object(objects.find(({ kind }) => kind === 'ConfigMap'))
    assert.equal(data['routes.yaml'], readFileSync(join(root, 'routes.yaml'), 'utf8'))
    assert.equal(data.shout, readFileSync(join(root, 'project/skills/hello/index.ts'), 'utf8'))
    const { items } = Object(volumes.find(({ name }) => name === 'files')?.configMap)
    assert.deepEqual(items.at(-1), { key: 'shout', path: 'skills/shout/index.ts' })
  })

  test('takes the values that the docs show, and the docs explain each of its values', (t) => {
    const dir = temporaryDir(t)
    const page = 'docs/kubernetes.md'
    const files = blocksOf(page)
      .filter(({ attributes }) => attributes.get('no-run')?.startsWith('values of the chart'))
      .map(({ code }, at) => {
        const file = join(dir, `${at}.yaml`)
        writeFileSync(file, code)
        return file
      })
    assert.equal(files.length, 3)
    const kinds = files.map((file) => render('-f', file).map(({ kind }) => kind))
    assert.deepEqual(
      ['PodDisruptionBudget', 'Ingress', 'PersistentVolumeClaim'].map((kind, at) =>
        kinds[at]?.includes(kind),
      ),
      [true, true, true],
    )
    assert.equal(
      kubernetesProblem(
        files.flatMap((file) => render('-f', file)),
        dir,
      ),
      undefined,
    )
    const explained = [...readFileSync(join(root, page), 'utf8').matchAll(/^\| `(\w+)/gm)].map(
      ([, key]) => key,
    )
    const [values] = parseAllDocuments(readFileSync(join(root, 'ops/helm/values.yaml'), 'utf8'))
    const missing = Object.keys(values?.toJS()).filter((key) => !explained.includes(key))
    assert.deepEqual(missing, [])
  })

  test('lets no pod start without Redis, unless its data is in a volume', () => {
    const needsRedis = ({ values }: (typeof VARIANTS)[number]) =>
      podOf(render(...values)).container.env.some(({ name }) => name === 'REDIS_URL')
    const withoutRedis = VARIANTS.filter((variant) => !needsRedis(variant)).map(({ name }) => name)
    assert.deepEqual(withoutRedis, ['the embedded store in a volume'])
  })

  test('runs the daemon as the manifest does', () => {
    const manifest = readFileSync(join(root, 'ops/kubernetes.yaml'), 'utf8')
    const own = podOf(parseAllDocuments(manifest).map((document) => document.toJS()))
    const charts = podOf(render())
    // The chart writes down the default, and has the skills in the same ConfigMap.
    const { imagePullPolicy: _policy, ...container } = charts.container
    assert.deepEqual(container, { ...own.container, envFrom: [{ secretRef: { name: 'trivium' } }] })
    for (const key of ['terminationGracePeriodSeconds', 'securityContext', 'automountServiceAccountToken'])
      assert.deepEqual(charts.spec[key], own.spec[key], key)
  })
})

/** The pod of the Deployment among objects. */
function podOf(objects: readonly KubernetesObject[]) {
  const { spec } = Object(objects.find(({ kind }) => kind === 'Deployment')).spec.template
  type Named = { name: string; value?: string; configMap?: object }
  type Container = { image: string; imagePullPolicy?: string; volumeMounts: Named[]; env: Named[] }
  const container: Container = spec.containers[0]
  const volumes: Named[] = spec.volumes
  return { spec, container, volumes }
}

describe('the docs name the image', () => {
  test('of the reader in all manifests, at the installation and at an upgrade', (t) => {
    const dir = temporaryDir(t)
    mkdirSync(join(dir, 'ops'))
    const names = globSync('kubernetes*.yaml', { cwd: join(root, 'ops') })
    for (const name of names) copyFileSync(join(root, 'ops', name), join(dir, 'ops', name))
    const commandsOf = (page: string) =>
      blocksOf(page).flatMap(({ code }) => code.match(/^sed -i\.bak .* ops\/kubernetes\*\.yaml$/gm) ?? [])
    const [install = ''] = commandsOf('docs/kubernetes.md')
    const [upgrade = ''] = commandsOf('docs/new-versions.md')
    const imagesAfter = (command: string) => {
      const script = `REGISTRY=ghcr.io/acme OLD=0.2.0 NEW=0.3.0\n${command}`
      assert.equal(spawnSync('bash', ['-ec', script], { cwd: dir }).status, 0, script)
      const lines = names.flatMap(
        (name) => readFileSync(join(dir, 'ops', name), 'utf8').match(/image: .*trivium:.*/g) ?? [],
      )
      return [...new Set(lines)]
    }
    const mine = (version: string) => [`image: ghcr.io/acme/trivium:${version}`]
    assert.deepEqual(imagesAfter(install), mine('0.2.0'))
    assert.deepEqual(imagesAfter(upgrade), mine('0.3.0'))
    // The way back puts back the manifests that were saved before.
    const page = readFileSync(join(root, 'docs/new-versions.md'), 'utf8')
    const saved = page.indexOf('cp -r routes.yaml ops skills ~/before-$NEW/files/')
    assert.ok(saved >= 0 && saved < page.indexOf(upgrade))
  })
})

describe('the docs', { skip, timeout: 300_000 }, () => {
  test('use commands and options of kubectl and helm that exist', (t) => {
    const dir = temporaryDir(t)
    for (const [name, path] of Object.entries(tools ?? {}))
      writeFileSync(join(dir, name), shim(name, path), { mode: 0o755 })
    // The files of the reader.
    const folders = ['.', 'my-bot', 'before-0.2.0', 'before-0.3.0']
    for (const folder of folders) {
      mkdirSync(join(dir, folder), { recursive: true })
      for (const name of ['trivium.tgz', 'routes.yaml']) writeFileSync(join(dir, folder, name), '')
    }
    const run = (script: string, place: string) => {
      const env = { PATH: dir, HOME: dir, NEW: '0.3.0' }
      // Other programs do nothing, and nobody types.
      const others = 'command_not_found_handle() { :; }\nread() { :; }'
      const whole = `set -eo pipefail\nshopt -s expand_aliases\n${others}\n${script.replaceAll('/backups/', '')}`
      const { status, stderr } = spawnSync('/bin/bash', ['-c', whole], { cwd: dir, env, encoding: 'utf8' })
      assert.equal(status, 0, `${place}\n${script}\n${stderr}`)
    }
    let count = 0
    for (const page of pages) {
      for (const block of blocksOf(page)) {
        if (block.language !== 'sh' || !/^(kubectl|helm) /m.test(block.code)) continue
        run(block.code, placeOf(block))
        count += 1
      }
      const text = readFileSync(join(root, page), 'utf8').replaceAll(/```.*?```/gs, '')
      for (const [, code = ''] of text.matchAll(/`((?:kubectl|helm)\s[^`]+)`/g)) {
        // Only the name of a command, in a sentence.
        if (code.split(/\s/).length < 3) continue
        run(code.replaceAll('\\|', '|').replaceAll(/\s+/g, ' ').replace('…', ''), page)
        count += 1
      }
    }
    assert.ok(count > 20, `only ${count} commands`)
  })

  test('show a kustomization that renders the manifests with routes.yaml and a new pod', (t) => {
    const dir = temporaryDir(t)
    mkdirSync(join(dir, 'ops'))
    for (const name of globSync('kubernetes*.yaml', { cwd: join(root, 'ops') }))
      copyFileSync(join(root, 'ops', name), join(dir, 'ops', name))
    writeFileSync(join(dir, 'routes.yaml'), 'gateways: {}\n')
    const block = blocksOf('docs/kubernetes.md').find(({ code }) => code.includes('kustomization.yaml'))
    const script = `set -euo pipefail\nkubectl() { '${tools?.kubectl}' "$@"; }\n${block?.code}`
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: dir, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    const objects: KubernetesObject[] = parseAllDocuments(stdout).map((document) => document.toJS())
    assert.equal(kubernetesProblem(objects, dir), undefined)
    const named = (kind: string) => Object(objects.find((each) => each.kind === kind))
    assert.deepEqual(named('ConfigMap').data, { 'routes.yaml': 'gateways: {}\n' })
    assert.equal(named('ConfigMap').metadata.name, 'trivium')
    assert.deepEqual(named('Deployment').spec.template.metadata.annotations, { restarted: '1' })
  })
})

/**
 * A program that asks the real one for help with the same words, which fails for unknown options.
 */
function shim(name: string, path: string): string {
  return `#!/bin/bash
words=()
for word in "$@"; do
  if [ "$word" = -- ]; then break; fi
  words+=("$word")
done
help=$('${path}' "\${words[@]}" --help 2>&1) || { echo "$help" >&2; exit 1; }
# Instead of an unknown command, its group explains itself.
usage=\${help##*Usage:}
case "$usage" in
  *SUBCOMMAND* | *'[command]'* | *'${name} [flags]'*) echo "${name} has no such command: $*" >&2; exit 1 ;;
esac
`
}

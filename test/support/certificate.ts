// A certificate of our own for localhost, for servers of tests: made by openssl, trusted by nobody but who is told.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Of which name, and since when and until when (`YYYYMMDDHHMMSSZ`). */
interface CertificateTerms {
  readonly name: string;
  readonly from: string;
  readonly until: string;
}

/** One that is valid at another time, or for another name. `req -x509` knows no past (OpenSSL 3.0), `ca` does. */
export function certificateOf({ name, from, until }: CertificateTerms): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  try {
    const [key, request, cert] = ['key.pem', 'request.pem', 'cert.pem'].map((file) => join(folder, file));
    const config = join(folder, 'ca.cnf');
    writeFileSync(join(folder, 'index.txt'), '');
    writeFileSync(
      config,
      `[ca]\ndefault_ca=own\n[own]\ndatabase=${folder}/index.txt\nnew_certs_dir=${folder}\nrand_serial=yes\n` +
        `default_md=sha256\npolicy=any\nx509_extensions=ext\n[any]\ncommonName=supplied\n` +
        `[ext]\nsubjectAltName=DNS:${name}\nbasicConstraints=CA:TRUE\n`,
    );
    const openssl = (text: string): void => void execFileSync('openssl', text.split(' '), { stdio: 'pipe' });
    openssl(
      `req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=${name} -keyout ${key} -out ${request}`,
    );
    openssl(
      `ca -selfsign -batch -notext -config ${config} -in ${request} -keyfile ${key} -startdate ${from} -enddate ${until} -out ${cert}`,
    );
    return { key: readFileSync(key ?? '', 'utf8'), cert: readFileSync(cert ?? '', 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Takes some 20 ms of CPU. @param more names or addresses beside localhost: `IP:::1` */
export function selfSigned(more: readonly string[] = []): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const names = `-subj /CN=localhost -addext subjectAltName=${['DNS:localhost', ...more].join()}`;
    const how = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 ${names}`;
    execFileSync('openssl', [...how.split(' '), '-keyout', key, '-out', cert], { stdio: 'pipe' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

//! Surveys of machines of all kinds, and of this one, whatever it has.

use crate::cuda::platform::{DeviceInfo, Platform};
use crate::cuda::survey::Survey;
use crate::cuda::{CudaError, CudaVersion};

/// A machine whose driver, GPUs or compiler may be missing.
struct Fake {
    driver: Option<CudaVersion>,
    devices: Result<Vec<DeviceInfo>, CudaError>,
    nvrtc: Option<CudaVersion>,
    cublaslt: Option<CudaVersion>,
}

impl Platform for Fake {
    fn has_driver(&self) -> bool {
        self.driver.is_some()
    }

    fn driver_version(&self) -> Result<CudaVersion, CudaError> {
        Ok(self.driver.expect("asked for only where there is a driver"))
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, CudaError> {
        assert!(self.driver >= Some(CudaVersion::NEEDED), "an older driver is asked nothing else");
        self.devices.clone()
    }

    fn nvrtc_version(&self) -> Option<CudaVersion> {
        assert!(self.driver >= Some(CudaVersion::NEEDED), "no library is loaded without a driver");
        self.nvrtc
    }

    fn cublaslt_version(&self) -> Option<CudaVersion> {
        assert!(self.driver >= Some(CudaVersion::NEEDED), "no library is loaded without a driver");
        self.cublaslt
    }
}

fn gpu(index: usize, compute: (u32, u32)) -> DeviceInfo {
    let name = format!("GPU of {}.{}", compute.0, compute.1);
    DeviceInfo {
        index,
        name,
        memory_bytes: 80 << 30,
        compute,
        multiprocessors: 132,
        block_shared_bytes: 227 << 10,
        exclusive: false,
    }
}

fn whole() -> Fake {
    let thirteen = Some(CudaVersion::NEEDED);
    Fake {
        driver: thirteen,
        devices: Ok(vec![gpu(0, (7, 5)), gpu(1, (9, 0))]),
        nvrtc: thirteen,
        cublaslt: thirteen,
    }
}

#[test]
fn a_machine_without_a_driver_says_so_everywhere() {
    let survey = Survey::of(&Fake { driver: None, ..whole() });
    assert_eq!(survey.driver, Err(CudaError::NoDriver));
    assert_eq!(survey.devices, Err(CudaError::NoDriver));
    assert_eq!(
        (survey.nvrtc.clone(), survey.cublaslt.clone()),
        (Err(CudaError::NoDriver), Err(CudaError::NoDriver))
    );
    assert_eq!(survey.device(0), Err(CudaError::NoDriver));
    assert_eq!(survey.first_usable(), Err(CudaError::NoDriver));
}

#[test]
fn an_old_driver_is_asked_for_nothing_but_its_version() {
    let survey = Survey::of(&Fake { driver: Some(CudaVersion::from_number(12_040)), ..whole() });
    let error = survey.device(0).unwrap_err().to_string();
    assert!(error.starts_with("driver has CUDA 12.4; needs 13.0 (580)"), "{error}");
}

#[test]
fn a_newer_driver_will_do() {
    let survey = Survey::of(&Fake { driver: Some(CudaVersion::new(14, 1)), ..whole() });
    assert_eq!(survey.driver, Ok(CudaVersion::new(14, 1)));
}

#[test]
fn gpus_go_by_index_and_need_bf16() {
    let survey = Survey::of(&whole());
    assert_eq!(survey.first_usable().unwrap().index, 1);
    assert_eq!(survey.device(1).unwrap().arch().to_string(), "sm_90a");
    let error = survey.device(0).unwrap_err().to_string();
    assert!(error.contains("7.5; needs 8.0"), "{error}");
    assert_eq!(survey.device(2), Err(CudaError::NoSuchDevice { index: 2, found: 2 }));
}

#[test]
fn a_driver_without_gpus_finds_none() {
    let none = CudaError::Call { call: "cuInit", code: 100, name: "CUDA_ERROR_NO_DEVICE".into() };
    for devices in [Ok(Vec::new()), Err(none)] {
        let survey = Survey::of(&Fake { devices, ..whole() });
        assert_eq!(survey.devices, Ok(Vec::new()));
        assert_eq!(survey.first_usable(), Err(CudaError::NoDevice));
    }
}

#[test]
fn kernel_compiler_may_be_missing_or_too_old_or_new() {
    assert_eq!(Survey::of(&Fake { nvrtc: None, ..whole() }).nvrtc, Err(CudaError::NoNvrtc));
    let found = CudaVersion::new(12, 8);
    assert_eq!(Survey::of(&Fake { nvrtc: Some(found), ..whole() }).nvrtc, Err(CudaError::OldNvrtc { found }));
}

#[test]
fn matrix_library_may_be_missing_or_too_old_or_new() {
    assert_eq!(Survey::of(&Fake { cublaslt: None, ..whole() }).cublaslt, Err(CudaError::NoCublasLt));
    let found = CudaVersion::new(12, 9);
    let survey = Survey::of(&Fake { cublaslt: Some(found), ..whole() });
    assert_eq!(survey.cublaslt, Err(CudaError::OldCublasLt { found }));
    assert_eq!(Survey::of(&whole()).cublaslt, Ok(CudaVersion::NEEDED));
}

#[test]
fn this_machine_can_be_looked_at_whatever_it_has() {
    let survey = Survey::of_this_machine();
    assert_eq!(survey.driver.is_err(), survey.devices.is_err());
}

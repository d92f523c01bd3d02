//! Choice of the device that computes a model, as `--device` has it.

use std::str::FromStr;

/// Choice of the device that computes a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The first GPU that can be used, else the CPU.
    Auto,
    /// The CPU, which is the default until the kernels for GPUs have run on one.
    #[default]
    Cpu,
    /// The GPU with this index in the driver's numbering.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "auto" => Ok(Self::Auto),
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", index)) if index.parse::<u8>().is_ok() => {
                Ok(Self::Cuda(index.parse().expect("it was one")))
            }
            _ => Err("expected `auto`, `cpu`, `cuda` or `cuda:N`, the Nth GPU from 0 on".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceChoice;

    #[test]
    fn a_device_is_a_word_with_perhaps_an_index() {
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("cpu".parse(), Ok(DeviceChoice::Cpu));
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        assert_eq!("cuda:7".parse(), Ok(DeviceChoice::Cuda(7)));
        for wrong in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1000", "cpu:0", "cuda0"] {
            assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
        }
    }
}
